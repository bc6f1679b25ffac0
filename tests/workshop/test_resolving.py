"""What cannot be had is named, in the same words whichever tool says so."""

from __future__ import annotations

import pytest

from tests.env.wheels import make_wheel
from tests.golden import Golden
from tests.workshop.bench import WorkBench
from voyageur.errors import SpecError
from voyageur.workshop.resolving import Unresolved

pytest_plugins = ["tests.golden"]

CASES = {
    "missing": ("nosuch",),
    "missing-below": ("needy",),
    "version": ("beta==3.0",),
    "conflict": ("alpha", "gamma"),
    "other-python": ("delta",),
    "other-machine": ("epsilon",),
    "source-only": ("zeta",),
}


def stocked(bench: WorkBench) -> None:
    make_wheel(bench.wheels, "alpha", requires=["beta>=2"])
    make_wheel(bench.wheels, "beta", "1.0")
    make_wheel(bench.wheels, "beta", "2.0")
    make_wheel(bench.wheels, "gamma", requires=["beta<2"])
    make_wheel(bench.wheels, "needy", requires=["not-there"])
    make_wheel(bench.wheels, "delta", tag="cp39-cp39-manylinux_2_17_x86_64")
    make_wheel(bench.wheels, "epsilon", tag="cp311-cp311-macosx_11_0_arm64")
    (bench.wheels / "zeta-1.0.tar.gz").write_bytes(b"")


def settled(bench: WorkBench, error: SpecError) -> str:
    """Without what is true of this machine alone."""
    python = bench.python().target
    text = error.text().replace(str(bench.root), "PROJECT").replace(str(python), "LINUX")
    return text.replace(f"Python {python.python}", "Python 3.X") + "\n"


@pytest.mark.parametrize("case", CASES)
def test_why_a_package_cannot_be_had(bench: WorkBench, case: str, golden: Golden) -> None:
    stocked(bench)
    with pytest.raises(Unresolved) as error:
        bench.wants(*CASES[case])
    lines = settled(bench, error.value).splitlines(keepends=True)
    golden(f"{case}.txt", "".join(line for line in lines if not line.startswith("  ") or "looked in" in line))
    named = {"needy": "not-there", "alpha": "beta"}.get(CASES[case][0], CASES[case][0].partition("=")[0])
    assert named in error.value.text()


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("numpy = 1.2", "`numpy = 1.2` names no package"),
        ("numpy=>1", "`numpy=>1` names no package"),
        ("-r requirements.txt", "files include each other without an end: requirements.txt"),
        ("./wheels/beta-2.0-py3-none-any.whl", "a wheel is wanted by its name and version, not by its file"),
    ],
)
def test_a_line_that_cannot_be_followed_is_named(quick: WorkBench, line: str, what: str) -> None:
    quick.write("requirements.txt", "# what we need", line)
    with pytest.raises(SpecError) as error:
        quick.lock()
    assert error.value.what == what
    assert "requirements.txt:2" in error.value.facts[0]


def test_two_bounds_that_contradict_each_other(bench: WorkBench) -> None:
    stocked(bench)
    with pytest.raises(Unresolved) as error:
        bench.wants("beta==1.0", "beta>=2")
    assert error.value.what == "these packages do not go together"
    assert any("beta" in fact for fact in error.value.facts)


def test_without_a_network_it_says_so(bench: WorkBench, golden: Golden) -> None:
    bench.write("requirements.txt", "--index-url http://127.0.0.1:9/simple", "anything")
    with pytest.raises(Unresolved) as error:
        bench.lock()
    assert error.value.trouble.kind == "network"
    golden("no-network.txt", settled(bench, error.value))


@pytest.mark.parametrize("line", ["-e .", "git+https://example.org/x.git", "./here", "x @ https://example.org/x.whl"])
def test_what_has_no_version_is_refused_with_its_line(quick: WorkBench, line: str, golden: Golden) -> None:
    quick.write("requirements.txt", "# what we need", line)
    with pytest.raises(SpecError) as error:
        quick.lock()
    name = "editable" if line.startswith("-e") else line.partition(":")[0].replace("/", "-").replace(" ", "-")
    golden(f"foreign-{name}.txt", error.value.text() + "\n")


def test_a_file_that_is_not_there_is_named_by_who_names_it(quick: WorkBench, golden: Golden) -> None:
    quick.write("requirements.txt", "-r more.txt")
    with pytest.raises(SpecError) as error:
        quick.lock()
    golden("no-file.txt", error.value.text() + "\n")


def test_a_python_that_is_not_here_is_said(quick: WorkBench) -> None:
    with pytest.raises(SpecError) as error:
        quick.python("3.99")
    assert error.value.what == "there is no Python 3.99 here"


def test_files_that_include_others(bench: WorkBench) -> None:
    stocked(bench)
    bench.write("base.txt", "beta  # any", "-c limits.txt")
    bench.write("limits.txt", "beta<2")
    bench.write(
        "requirements.txt",
        "--no-index",
        "--find-links=wheels",
        "-r base.txt",
        'gamma ; python_version > "3.0"',
        'alpha; sys_platform == "win32"',
    )
    lock = bench.lock().lock
    assert [str(one) for one in lock.packages] == ["beta==1.0", "gamma==1.0"]
    assert lock.wanted == ("beta", "gamma")
    assert [source.name for source in lock.sources] == ["requirements.txt", "base.txt", "limits.txt"]
