"""Looks at the datasets that a run names, before anything is made: a path that is not there is an error now."""

from __future__ import annotations

from pathlib import PurePosixPath

from voyageur.errors import SpecError
from voyageur.job.data.errors import DataError
from voyageur.plan import Seen
from voyageur.plan.data import dataset_path
from voyageur.runtime.staging.look import Look, NotThere, look
from voyageur.spec import Dataset, Spec
from voyageur.units import Size

_ENTRIES = 20_000  # of a folder; more would keep people waiting


def see(spec: Spec, scratch: PurePosixPath, is_elsewhere: bool) -> dict[str, Seen]:
    """What a cluster elsewhere has cannot be seen from here, and is no error."""
    found = {}
    for name, dataset in spec.data.items():
        path = dataset_path(dataset, scratch)
        try:
            found[name] = _seen(look(path, _ENTRIES))
        except NotThere as problem:
            if not is_elsewhere:
                raise _missing(spec, name, dataset, str(problem), scratch) from None
        except DataError as problem:
            raise SpecError(problem.what, facts=[f"dataset {name}", *problem.facts], hint=problem.hint) from None
    return found


def _seen(found: Look) -> Seen:
    return Seen(
        kind=found.kind,
        size=Size(found.size),
        members=found.members,
        unpacked=None if found.unpacked is None else Size(found.unpacked),
        has_checksums=bool(found.digest),
        is_all=found.is_all,
    )


def _missing(spec: Spec, name: str, dataset: Dataset, problem: str, scratch: PurePosixPath) -> SpecError:
    hint = "check the path; a relative one counts from " + str(scratch)
    if spec.source("data") == "--data":
        hint += "; and the command stands after `--`"
    facts = [problem, f"asked for by {spec.source('data')}: {dataset.from_}"]
    return SpecError(f"the dataset `{name}` is not there", facts=facts, hint=hint)
