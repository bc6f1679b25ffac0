"""How much is left of a long run, from what its pieces so far have told."""

import math
from typing import Any, Mapping, Optional

_MARGIN = 1.25  # on what is left; a piece that is too short only costs another
_SPARE = 30.0  # seconds between the end of the work and the moment of the warning, which comes up to that much early
_WORTH_IT = 0.7  # of the whole limit: a job that is hardly shorter starts no sooner
_TOLD = 3  # units after which their length is trusted


def seconds_left(progress: Mapping[str, Any]) -> Optional[float]:
    """None where the log does not tell, or has not told for long enough."""
    per_unit, total, done = (progress.get(name) for name in ("per_unit", "total", "done"))
    if not per_unit or total is None or done is None or done - progress.get("first", done) < _TOLD - 1:
        return None
    return max(0.0, (float(total) - float(done)) * float(per_unit))


def work_in(limit: float, warn: float, start: float) -> float:
    """Of a piece: what comes before the first unit and behind the warning does not count."""
    return max(1.0, limit - warn - start)


def pieces_for(left: float, limit: float, warn: float, start: float) -> int:
    return max(1, math.ceil(left / work_in(limit, warn, start)))


def minutes_wanted(left: float, limit: float, warn: float, start: float) -> Optional[int]:
    """For the last piece; None where it had better ask for as much as the others."""
    wanted = left * _MARGIN + start + warn + _SPARE
    return math.ceil(wanted / 60) if wanted <= _WORTH_IT * limit else None
