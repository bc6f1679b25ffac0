"""What stands in a text beside its meaning: characters that nobody sees, and `# voy: ignore[rule]`."""

from __future__ import annotations

import io
import tokenize

_HIDDEN = {
    "\u00a0": "a space that does not break (U+00A0)",
    "\u202f": "a narrow space that does not break (U+202F)",
    "\u00ad": "a soft hyphen (U+00AD)",
    "\u200b": "a space without width (U+200B)",
    "\u200c": "a joiner without width (U+200C)",
    "\u200d": "a joiner without width (U+200D)",
    "\u200e": "a mark of direction (U+200E)",
    "\u200f": "a mark of direction (U+200F)",
    "\u2028": "a line break of its own kind (U+2028)",
    "\u202a": "a mark of direction (U+202A)",
    "\u202e": "a mark of direction (U+202E)",
    "\u2060": "a joiner without width (U+2060)",
    "\ufeff": "a byte order mark (U+FEFF)",
}
_MARK = "voy: ignore["


def hidden_in(line: str, *, first: bool = False) -> str:
    """The first such character outside of quotes and comments; `#` of the first line may be a shebang."""
    if line.isascii():
        return ""
    quote = ""
    for place, letter in enumerate(line):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "'\"":
            quote = letter
        elif letter == "#" and (place == 0 or line[place - 1].isspace()) and not (first and place <= 1):
            return ""
        elif letter in _HIDDEN:
            return _HIDDEN[letter]
    return ""


def hidden_anywhere(line: str) -> str:
    return "" if line.isascii() else next((_HIDDEN[letter] for letter in line if letter in _HIDDEN), "")


def silenced_lines(text: str) -> dict[int, tuple[str, ...]]:
    """The rules that a comment silences, by line."""
    if _MARK not in text:
        return {}
    found = {}
    for number, line in enumerate(text.splitlines(), 1):
        comment = line.partition("#")[2]
        if _MARK in comment:
            found[number] = _rules(comment)
    return found


def silenced_in_python(text: str) -> dict[int, tuple[str, ...]]:
    """The same, where a `#` may also stand in a string."""
    if _MARK not in text:
        return {}
    found = {}
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and _MARK in token.string:
                found[token.start[0]] = _rules(token.string)
    except (tokenize.TokenError, SyntaxError):
        return found
    return found


def _rules(comment: str) -> tuple[str, ...]:
    inside = comment.partition(_MARK)[2].partition("]")[0]
    return tuple(word.strip() for word in inside.split(","))
