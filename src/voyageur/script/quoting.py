"""Two languages stand on one page, so there are two ways to quote."""

from __future__ import annotations

import re
import shlex


def bash_word(text: str) -> str:
    """sbatch takes a script with a carriage return at a line's end for a DOS file and refuses it."""
    if "\r" not in text:
        return shlex.quote(text)
    escaped = text.replace("\\", "\\\\").replace("'", "\\'").replace("\r", "\\r").replace("\n", "\\n")
    return f"$'{escaped}'"


def sbatch_word(text: str) -> str:
    """sbatch's own rules: `#` begins a comment, and a backslash escapes inside either kind of quotes."""
    if re.fullmatch(r"[\w@%+=:,./-]+", text, re.ASCII):
        return text
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def comment(text: str) -> str:
    """Text that stays behind its `#`: no line break may end the comment."""
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text)
