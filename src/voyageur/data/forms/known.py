"""The forms by name, by ending, and by what is in the file."""

from __future__ import annotations

import os

from voyageur.data.forms import hdf5, lightning, squashfs, tfrecord, trees, zips
from voyageur.data.forms.form import Form
from voyageur.data.forms.shards import is_tar, name_of_all, open_tar
from voyageur.errors import SpecError
from voyageur.job.data import Pack

PACK, SHARDS = "pack", "webdataset"

WRITTEN = {
    form.name: form for form in (zips.FORM, hdf5.FORM, lightning.FORM, tfrecord.FORM, squashfs.FORM, trees.FORM)
}  # a folder comes last: what is more than that is known before
NAMES = (PACK, SHARDS, *WRITTEN)


def target_form(target: str, told: str | None) -> str:
    if told:
        return told
    if target.endswith(".tar"):
        return SHARDS if name_of_all(target) else PACK
    for form in WRITTEN.values():
        if target.endswith(form.endings):
            return form.name
    if not os.path.splitext(target)[1]:
        return trees.FORM.name
    endings = [ending for form in WRITTEN.values() for ending in form.endings if ending != "/"]
    raise SpecError(
        f"{target} has no ending that says what it should be",
        facts=["known: " + ", ".join([".tar", *endings])],
        hint="say it with `--to`: " + ", ".join(NAMES),
    )


def source_form(path: str, told: str | None) -> str:
    if told and (os.path.exists(path) or told in (PACK, SHARDS)):
        return told
    if is_tar(path):
        return PACK
    if not os.path.exists(path):
        raise SpecError(f"there is no {path}", hint="its path counts from the folder you are in")
    for form in WRITTEN.values():
        if form.is_one(path):
            return form.name
    raise SpecError(f"{path} is none of the forms that can be converted", facts=["known: " + ", ".join(NAMES)])


def opened(path: str, name: str, room: str) -> Pack:
    form: Form | None = WRITTEN.get(name)
    if form and not form.is_one(path):
        raise SpecError(f"{path} is no {name}", hint="without `--from`, it is looked at what it is")
    return form.open(os.path.abspath(path), room) if form else open_tar(path, room)
