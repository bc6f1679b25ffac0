"""Plain folders."""

from __future__ import annotations

import os

from voyageur.data.errors import told_name
from voyageur.data.forms.form import Chosen, Form, Written
from voyageur.data.listing import list_folder
from voyageur.data.sources import OTHERS
from voyageur.data.unpacking import unpack
from voyageur.errors import SpecError
from voyageur.job.data import DataError, FolderPack
from voyageur.job.data.folder import Listed

_MAPPED = 64 << 20  # from here on a file is not taken into memory
_SHOWN = 5


class Tree(FolderPack):
    """A folder as it is packed: links are not followed."""

    def __init__(self, path: str, _: str) -> None:
        self._root = os.fsencode(path)
        found = list_folder(self._root)
        if found.problems:
            facts = [f"{told_name(name) or '.'}: {why}" for name, why in found.problems[:_SHOWN]]
            raise DataError(f"{path} cannot be read", facts)
        self.left_out = dict(found.left_out)
        others = len(found.empty) + sum(map(len, found.links.values()))
        if others:
            self.left_out[OTHERS] = others
        names = [os.path.join(folder, name) for folder, joined in found.files.items() for name in joined.split(b"/")]
        Listed.__init__(self, path, names)

    def _view(self, number: int) -> memoryview:
        """A file that becomes shorter while it is mapped kills who reads it."""
        return super()._view(number) if self._size(number) >= _MAPPED else memoryview(self._read(number))


def _write(chosen: Chosen, path: str, done: Written) -> None:
    made = unpack(chosen.pack, [], path, lambda count: None, done)
    if made.problems:
        facts = [f"{told_name(name)}: {why}" for name, why in made.problems[:_SHOWN]]
        raise SpecError(f"{len(made.problems)} members cannot be written", facts=facts)
    chosen.left_out.pop(OTHERS, None)
    chosen.left_out.update({what: count for what, count in made.left_out.items() if what not in chosen.left_out})


FORM = Form(name="folder", endings=("/",), is_one=os.path.isdir, open=Tree, write=_write, is_tree=True, each=4096)
