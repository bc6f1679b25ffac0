"""Durations and sizes, as people and as Slurm write them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from voyageur.units import Duration, Size, UnitError

HOUR, DAY = 3_600, 86_400


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("3d", 3 * DAY),
        ("24h", DAY),
        ("90m", 90 * 60),
        ("45s", 45),
        ("1d12h", DAY + 12 * HOUR),
        ("1d 12h 30m", DAY + 12 * HOUR + 30 * 60),
        ("3 h", 3 * HOUR),
        ("3H", 3 * HOUR),
        (" 3h ", 3 * HOUR),
        ("1.5h", 90 * 60),
        ("2.3h", 2 * HOUR + 18 * 60),
        ("1-12:00:00", DAY + 12 * HOUR),
        ("0-03:00", 3 * HOUR),
        ("2-6", 2 * DAY + 6 * HOUR),
        ("01:30:00", HOUR + 30 * 60),
        ("100:00:00", 100 * HOUR),
        ("30:00", 30 * 60),
        ("10min", 10 * 60),
        ("3days", 3 * DAY),
        ("2hours", 2 * HOUR),
        ("1 hour 30 mins", 90 * 60),
        ("1day2hrs", DAY + 2 * HOUR),
        ("90 seconds", 90),
    ],
)
def test_durations_as_people_write_them(text: str, seconds: int) -> None:
    assert Duration.parse(text) == Duration(seconds)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("-3h", "a time cannot be negative"),
        ("-1-00:00:00", "a time cannot be negative"),
        ("90", "a time needs its unit: write 90m or 90h"),
        ("0h", "a time must be longer than zero"),
        ("0", "a time must be longer than zero"),
        ("3 weeks", "not a time: write it like 3d, 24h, 90m or 1-12:00:00"),
        ("5ms", "not a time: write it like 3d, 24h, 90m or 1-12:00:00"),
        ("00:00:00", "a time must be longer than zero"),
        ("", "not a time: write it like 3d, 24h, 90m or 1-12:00:00"),
        ("soon", "not a time: write it like 3d, 24h, 90m or 1-12:00:00"),
        ("3w", "not a time: write it like 3d, 24h, 90m or 1-12:00:00"),
        ("3h\n4h;", "not a time: write it like 3d, 24h, 90m or 1-12:00:00"),
        ("1:2:3:4", "not a time: write it like 3d, 24h, 90m or 1-12:00:00"),
        ("infinite", "not a time: write it like 3d, 24h, 90m or 1-12:00:00"),
    ],
)
def test_what_is_no_duration_says_why(text: str, problem: str) -> None:
    with pytest.raises(UnitError) as caught:
        Duration.parse(text)
    assert str(caught.value) == problem


@pytest.mark.parametrize("text", ["9" * 400 + "d", "9" * 400 + ".5h"])
def test_an_absurd_duration_is_refused_like_any_other_mistake(text: str) -> None:
    with pytest.raises(UnitError):
        Duration.parse(text)


@pytest.mark.parametrize(
    ("text", "slurm"),
    [("3d", "3-00:00:00"), ("90m", "0-01:30:00"), ("24h", "1-00:00:00"), ("61s", "0-00:02:00"), ("1s", "0-00:01:00")],
)
def test_slurm_counts_in_minutes_and_nobody_gets_less_than_was_asked(text: str, slurm: str) -> None:
    assert Duration.parse(text).slurm() == slurm


@given(st.integers(1, 10_000 * DAY))
def test_a_duration_survives_being_printed_and_read_again(seconds: int) -> None:
    duration = Duration(seconds)
    assert Duration.parse(str(duration)) == duration
    assert Duration(seconds) <= Duration.parse(duration.slurm()) < Duration(seconds + 60)


@given(st.text(max_size=30) | st.from_regex(r"[0-9.dhms: -]{0,20}", fullmatch=True))
def test_any_text_is_a_duration_or_a_unit_error(text: str) -> None:
    with contextlib.suppress(UnitError):
        assert Duration.parse(text).seconds > 0


def test_durations_are_compared_by_length() -> None:
    assert Duration.parse("90m") < Duration.parse("2h") < Duration.parse("1d")


@pytest.mark.parametrize(
    ("text", "mebibytes"),
    [
        ("32000M", 32000),
        ("118GB", 118 * 1024),
        ("10G", 10 * 1024),
        ("10GiB", 10 * 1024),
        ("10g", 10 * 1024),
        ("10 G", 10 * 1024),
        ("1.5T", 1536 * 1024),
        ("2048K", 2),
        ("0.5G", 512),
    ],
)
def test_sizes_as_people_write_them_and_a_g_is_1024_m(text: str, mebibytes: int) -> None:
    assert Size.parse(text) == Size.of_mebibytes(mebibytes)
    assert Size.parse(text).mebibytes == mebibytes


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("-1G", "a size cannot be negative"),
        ("32000", "a size needs its unit: write 32000M or 32000G"),
        ("1.5", "a size needs its unit: write 1.5M or 1.5G"),
        ("0G", "a size must be larger than zero"),
        ("0", "a size must be larger than zero"),
        ("", "not a size: write it like 32000M, 10G or 1.5T"),
        ("lots", "not a size: write it like 32000M, 10G or 1.5T"),
        ("10X", "not a size: write it like 32000M, 10G or 1.5T"),
        ("10G 5G", "not a size: write it like 32000M, 10G or 1.5T"),
        ("10B", "not a size: write it like 32000M, 10G or 1.5T"),
    ],
)
def test_what_is_no_size_says_why(text: str, problem: str) -> None:
    with pytest.raises(UnitError) as caught:
        Size.parse(text)
    assert str(caught.value) == problem


def test_an_absurd_size_is_refused_like_any_other_mistake() -> None:
    with pytest.raises(UnitError):
        Size.parse("9" * 400 + "T")


@pytest.mark.parametrize(
    ("size", "slurm"), [("10G", "10240M"), ("32000M", "32000M"), ("1K", "1M"), ("1025K", "2M"), ("1T", "1048576M")]
)
def test_slurm_gets_whole_mebibytes_and_never_zero_which_would_mean_all(size: str, slurm: str) -> None:
    assert Size.parse(size).slurm() == slurm


@pytest.mark.parametrize(
    ("amount", "shown"),
    [(10 * 1024**3, "10G"), (32000 * 1024**2, "32000M"), (1536, "1.5K"), (300, "300B"), (0, "0B"), (2 * 1024**4, "2T")],
)
def test_sizes_are_shown_short(amount: int, shown: str) -> None:
    assert str(Size(amount)) == shown


@given(st.integers(1, 10**9))
def test_whole_mebibytes_survive_being_printed_and_read_again(mebibytes: int) -> None:
    size = Size.of_mebibytes(mebibytes)
    assert Size.parse(str(size)) == size
    assert Size.parse(size.slurm()) == size


@given(st.text(max_size=30) | st.from_regex(r"[0-9.KMGTiB -]{0,20}", fullmatch=True))
def test_any_text_is_a_size_or_a_unit_error(text: str) -> None:
    with contextlib.suppress(UnitError):
        assert Size.parse(text).bytes > 0
