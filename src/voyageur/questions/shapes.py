"""When each of a few shapes would start: one short question a shape, with a pause between, as Slurm's owners ask."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence

from voyageur.hosts import Host
from voyageur.questions.bounded import ask_program
from voyageur.site import Site
from voyageur.slurm_text.starts import Start, start_from, test_only_argv
from voyageur.units import Duration

PATIENCE = Duration(30)
_PAUSE = Duration(1)


def ask_starts(
    host: Host,
    site: Site,
    scripts: Sequence[str],
    patience: Duration = PATIENCE,
    sleep: Callable[[float], None] = time.sleep,
) -> Iterator[Start]:
    """One answer for each script. Of a controller that is silent nothing more is asked."""
    silence = ""
    for number, script in enumerate(scripts):
        if silence:
            yield Start(silence=silence)
            continue
        if number:
            sleep((site.limits.sbatch_pause or _PAUSE).seconds)
        start = _ask(host, script, patience)
        silence = start.silence
        yield start


def _ask(host: Host, script: str, patience: Duration) -> Start:
    answer = ask_program(host, test_only_argv(), patience, read=script)
    if answer is None:
        return Start(silence="this machine has no sbatch")
    return start_from(answer.code, answer.output, answer.errors)
