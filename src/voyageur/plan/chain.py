"""How a run that is longer than the queue likes is cut into pieces, and how one piece follows the other."""

from __future__ import annotations

import math
from collections.abc import Iterator

from msgspec.structs import replace

from voyageur.errors import SpecError
from voyageur.plan.gpus import with_implied_gpu
from voyageur.plan.model import Chain, Choice, Export, Identity, Surroundings
from voyageur.plan.pieces import DAY, fitting_piece
from voyageur.plan.queue import longest_time
from voyageur.plan.reasons import asked
from voyageur.runtime.resume import is_wanted
from voyageur.site import Partition, Policy, Site
from voyageur.spec import Spec
from voyageur.units import Duration

AHEAD = "ahead"  # successors that the login node submits
_MOST = 1000  # Slurm's own default for how large an array may be


def decide_chain(spec: Spec, site: Site, around: Surroundings) -> Chain | None:
    """Before the partition is chosen: what it must allow is one piece, not the whole."""
    if spec.checkpoint.chain is None:
        return None
    pieces, piece = _cut(spec, site, around)
    if pieces.value > _MOST:
        raise SpecError(
            f"a chain of {pieces.value} pieces is too long",
            facts=[f"checkpoint.chain is {asked(spec, 'checkpoint.chain')}"],
            hint=f"{_MOST} is the most: ask for longer pieces",
        )
    return Chain(pieces=pieces, piece=piece, by=_by(spec, site, pieces.value))


def in_pieces(spec: Spec, chain: Chain | None) -> Spec:
    """The wish for one piece."""
    return spec if chain is None else replace(spec, resources=replace(spec.resources, time=chain.piece.value))


def _cut(spec: Spec, site: Site, around: Surroundings) -> tuple[Choice[int], Choice[Duration]]:
    wish, time, source = spec.checkpoint.chain, spec.resources.time, asked(spec, "checkpoint.chain")
    assert wish is not None
    if wish.pieces:
        because = f"{source}: as many as that, if it needs them"
        return Choice(value=wish.pieces, because=because), Choice(value=time, because=asked(spec, "resources.time"))
    piece = Choice(value=wish.piece, because=source) if wish.piece else _fitting_piece(spec, site, around)
    if time <= piece.value:
        whole = Choice(value=time, because=asked(spec, "resources.time"))
        chosen = f": {piece.because}" if piece.value == time and not wish.piece else ""
        return Choice(value=1, because=f"{time} is no longer than one piece of {piece.value}{chosen}"), whole
    count = -(-time.seconds // piece.value.seconds)
    because = f"{time}, {asked(spec, 'resources.time')}, in pieces of {piece.value}; more if it turns out to need them"
    return Choice(value=count, because=because), piece


def _fitting_piece(spec: Spec, site: Site, around: Surroundings) -> Choice[Duration]:
    if site.engine == "local":
        return Choice(value=DAY, because="a day; nobody waits for this machine")
    return fitting_piece(spec, site, around, longest_time(spec, with_implied_gpu(spec, site), site))


def _by(spec: Spec, site: Site, pieces: int) -> Choice[str]:
    wanted = spec.checkpoint.by
    if site.engine == "local":
        return Choice(value="array", because="this machine starts one piece after the other")
    if wanted == "requeue" and not spec.requeue:
        raise SpecError(
            "a chain by requeue needs a job that may be put back into the queue",
            facts=[f"`requeue = false` is {asked(spec, 'requeue')}"],
            hint='leave `requeue` out, or write `by = "array"` under [checkpoint]',
        )
    if wanted == "successors" and site.limits.sbatch_in_jobs is False:
        return _ahead(spec, site, pieces)
    if wanted != "auto":
        return Choice(value=wanted, because=asked(spec, "checkpoint.by"))
    limits = site.limits
    most = min(number for number in (limits.array, limits.submitted, _MOST) if number)
    if pieces <= most:
        return Choice(
            value="array", because="one submission, and each piece may start as soon as the one before it ends"
        )
    if limits.sbatch_in_jobs is not False:
        return Choice(value="successors", because=f"{site.name} takes no more than {most} jobs of one user at once")
    return Choice(value="requeue", because=f"{site.name} takes no more than {most} jobs at once, and none from a job")


def _ahead(spec: Spec, site: Site, pieces: int) -> Choice[str]:
    """All pieces wait from the beginning, each for the end of the one before it."""
    if site.limits.submitted and pieces > site.limits.submitted:
        raise SpecError(
            f"{pieces} pieces cannot all be submitted ahead",
            facts=[f"{site.name} takes {site.limits.submitted} jobs of one user at once, and none from a job"],
            hint='ask for longer pieces, or write `by = "requeue"` under [checkpoint]',
        )
    asked_for = asked(spec, "checkpoint.by")
    return Choice(
        value=AHEAD, because=f"{asked_for}; {site.name} takes no jobs from a job, so all are submitted at once"
    )


# ── what the job is told ─────────────────────────────────────────────────────────────────────────────────────────────


def chain_exports(spec: Spec, site: Site, chain: Chain | None, identity: Identity) -> Iterator[Export]:
    wish, retry = spec.checkpoint, spec.retry
    said = {
        "VOY_CHECKPOINT_PATTERN": (wish.pattern, "which files in VOY_CHECKPOINTS are checkpoints"),
        "VOY_RESUME": (wish.resume, "what the command gets as soon as there is a checkpoint"),
        "VOY_WARN_SIGNAL": (wish.signal if spec.says("checkpoint.signal") else None, "what the warning is"),
        "VOY_KEEP": (wish.keep, "so many checkpoints stay"),
        "VOY_PROGRESS": (wish.progress, "how the log tells how far it is"),
        "VOY_FINISHED": (wish.finished, "a file of this name among the checkpoints: all is done"),
        "VOY_RETRIES": (retry.failures or None, "so often it is tried again after a failure"),
        "VOY_RETRY_MEMORY": (retry.memory, "once, after a lack of memory, with so much more"),
    }
    for name, (value, because) in said.items():
        if value is not None:
            yield Export(name=name, value=str(value), because=because)
    if chain and chain.pieces.value > 1:
        yield Export(name="VOY_CHAIN", value=chain.by.value, because=chain.by.because)
        yield Export(name="VOY_PIECES", value=str(chain.pieces.value), because=chain.pieces.because)
    if chain or retry.failures or retry.memory or retry.time:
        may = site.engine == "slurm" and site.limits.sbatch_in_jobs is not False
        yield Export(name="VOY_SUCCESSORS", value=str(int(may)), because="1: a job may submit another")
    if site.engine == "slurm" and site.request.nodelist is Policy.FORBIDDEN:
        yield Export(name="VOY_LEAVE_OUT", value="0", because=f"{site.name} wants no job to name nodes")
    if uses_checkpoints(spec):
        yield from _trackers(spec, identity)


def more_time(spec: Spec, site: Site, partition: Partition | None, time: Duration) -> Iterator[Export]:
    """What a run that is not cut may ask for once, when its time was up."""
    if spec.retry.time is None:
        return
    longest = (partition.time_limit if partition else None) or site.times.maximum
    wanted = Duration(math.ceil(time.seconds * spec.retry.time))
    more = min(wanted, longest) if longest else wanted
    because = "seconds: once, when its time was up"
    capped = f"; {wanted} is more than {longest}, the most there is" if more < wanted else ""
    yield Export(name="VOY_RETRY_TIME", value=str(max(more, time).seconds), because=f"{because}{capped}")


def uses_checkpoints(spec: Spec) -> bool:
    wish = spec.checkpoint
    return bool(wish.pattern or wish.resume or wish.chain or is_wanted({}, list(spec.command)))


def _trackers(spec: Spec, identity: Identity) -> Iterator[Export]:
    """One run in the tracker, however many attempts; unless the user has a name for it."""
    for name, value in {"WANDB_RUN_ID": identity.job_name, "WANDB_RESUME": "allow"}.items():
        if name not in spec.env.variables and name not in spec.env.secrets:
            yield Export(name=name, value=value, because="all attempts are one run in Weights & Biases")


def chain_notes(spec: Spec, chain: Chain | None) -> Iterator[str]:
    finds_its_way = spec.checkpoint.resume or spec.checkpoint.pattern or is_wanted({}, list(spec.command))
    if chain and chain.pieces.value > 1 and not finds_its_way:
        yield (
            "every piece starts the program anew, and it must find its own checkpoint: in {checkpoints}, by "
            "`job.checkpoint.latest()`, or with `resume` under [checkpoint]"
        )
    if spec.checkpoint.keep and not spec.checkpoint.pattern:
        yield "`checkpoint.keep` without a `pattern` removes only what was published with `job.checkpoint`"
