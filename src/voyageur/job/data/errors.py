"""What can be wrong with a dataset. Like all errors of Voyageur: what happened, the facts, what to do next.

DataError
├── NoSuchData      there is nothing of that name or path
├── NotAPack        it is no archive that can be read in place: compressed, empty, something else
├── BrokenPack      it was an archive: cut off, overwritten, a flipped bit
└── StaleIndex      the index describes another archive than the one beside it
"""

from typing import Iterable, Optional


class DataError(Exception):
    def __init__(self, what: str, facts: Iterable[str] = (), hint: Optional[str] = None) -> None:
        super().__init__(what)
        self.what = what
        self.facts = tuple(facts)
        self.hint = hint

    def __str__(self) -> str:
        lines = [self.what] + ["  " + fact for fact in self.facts]
        return "\n".join(lines + (["hint: " + self.hint] if self.hint else []))


class NoSuchData(DataError):
    pass


class NotAPack(DataError):
    pass


class BrokenPack(DataError):
    pass


class StaleIndex(DataError):
    pass
