"""Two languages stand on one page: what bash and what sbatch read back is what was written."""

import subprocess
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from voyageur.script.quoting import bash_word, comment, sbatch_word
from voyageur.script.render import _flag, _with_reason

words = st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20), min_size=1)
raw = st.lists(st.binary(max_size=12).map(lambda data: data.replace(b"\0", b"")), min_size=1, max_size=6)


@settings(max_examples=60, deadline=None)
@given(words.map(lambda texts: [text.encode() for text in texts]) | raw)
def test_bash_gives_every_argument_back_byte_for_byte(arguments: list[bytes]) -> None:
    texts = [argument.decode("utf-8", "surrogateescape") for argument in arguments]
    line = "command=(" + " ".join(bash_word(text) for text in texts) + ")\nprintf '%s\\0' \"${command[@]}\"\n"
    script = line.encode("utf-8", "surrogateescape")
    answer = subprocess.run(["bash", "--norc"], input=script, capture_output=True, check=True)
    assert answer.stdout.split(b"\0")[:-1] == arguments


def read_by_sbatch(line: str) -> Iterator[str]:
    """The words of a `#SBATCH` line by the rules of _get_argument in sbatch's opt.c (22.05)."""
    rest = line.removeprefix("#SBATCH")
    while True:
        rest = rest.lstrip(" \t\v\f\r\n")
        if not rest or rest[0] == "#":
            return
        word, rest = one_word(rest)
        yield word


def one_word(text: str) -> tuple[str, str]:
    found, quote, escaped = "", "", False
    for place, letter in enumerate(text):
        if letter == "\n" or (not quote and not escaped and (letter in " \t\v\f\r" or letter == "#")):
            return found, text[place:]
        if escaped:
            found, escaped = found + letter, False
        elif letter == "\\":
            escaped = True
        elif quote and letter == quote:
            quote = ""
        elif not quote and letter in "\"'":
            quote = letter
        else:
            found += letter
    return found, ""


values = st.text(st.characters(exclude_characters="\n\0", exclude_categories=["Cs"]), max_size=30)


@given(values)
def test_sbatch_reads_the_word_that_was_meant(value: str) -> None:
    assert list(read_by_sbatch(f"#SBATCH --x={sbatch_word(value)}  # reason")) == [f"--x={value}"]


@given(values, st.text(max_size=30))
def test_a_whole_line_is_one_flag_and_its_reason_stays_a_comment(value: str, reason: str) -> None:
    line = _with_reason(f"#SBATCH {_flag(f'--output={value}')}", reason)
    assert "\n" not in line
    assert list(read_by_sbatch(line)) == [f"--output={value}"]


def test_the_model_of_sbatch_knows_its_oddities() -> None:
    assert list(read_by_sbatch("#SBATCH --a=b#c --d")) == ["--a=b"]
    assert list(read_by_sbatch(r"#SBATCH --a='b\'c' --d")) == ["--a=b'c", "--d"]
    assert list(read_by_sbatch('#SBATCH --a="b c"d e # f')) == ["--a=b cd", "e"]


@given(st.text(max_size=50))
def test_a_comment_stays_on_its_line(text: str) -> None:
    assert not set(comment(text)) & set("\n\r\v\f\0")
