"""Projects to look at, and clusters to look at them for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from msgspec.structs import replace

from tests.plan.wishes import CLUSTER, CODE
from voyageur.findings import Finding
from voyageur.plan import Identity, Surroundings, make_plan
from voyageur.readiness import look
from voyageur.rules import Known
from voyageur.site import Place, Reach, Site, Use, Welcome
from voyageur.site.facts import Limits, Network, Software, Storage, Times
from voyageur.spec import Given, read_spec
from voyageur.units import Duration

STRICT = replace(
    CLUSTER,
    name="strict",
    network=Network(internet=Reach.NONE),
    software=Software(wheelhouse=True, conda=Welcome.DISCOURAGED),
    times=Times(tiers=(Duration.parse("3h"), Duration.parse("1d"))),
    limits=Limits(sbatch_in_jobs=False),
    storage=Storage(
        places=(
            Place(name="home", path="$HOME", files=100_000, jobs=Use.DISCOURAGED),
            Place(name="scratch", path="$SCRATCH", files=1_000_000),
        )
    ),
)
OPEN = replace(STRICT, name="open", network=Network(internet=Reach.OPEN))
UNTOLD = replace(STRICT, name="untold", network=Network())
PROXY = replace(
    STRICT,
    name="proxied",
    network=Network(internet=Reach.PROXY, proxy_module="httpproxy", proxy_hosts=("comet.com",)),
)
TRAINS = "import torch\nmodel = torch.load('x')\ntorch.save(model, 'x')\n"


def write(root: Path, files: dict[str, str | bytes]) -> None:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)


def findings(
    root: Path,
    files: dict[str, str | bytes],
    command: str = "python train.py",
    site: Site = STRICT,
    known: Known | None = None,
    start_in: str = ".",
    **asked: Any,
) -> tuple[Finding, ...]:
    """findings(root, {"train.py": "..."}, gpus=2, time="1d", env__variables={...})"""
    write(root, files)
    resources = {"nodes", "gpus", "gpu", "tasks", "cpus", "memory", "time"}
    flags = {"command": Given(command, "the command line")}
    for name, value in asked.items():
        key = f"resources.{name}" if name in resources else name.replace("__", ".")
        flags[key] = Given(value, f"--{name}")
    spec = read_spec(folder=root / start_in, flags=flags, environment={})
    around = Surroundings(scratch="/scratch")
    plan = make_plan(spec, site, around, Identity(slug="train", token="0123456789ab"), CODE)
    names = [str(path.relative_to(root)) for path in sorted(root.rglob("*")) if path.is_file()]
    return look(root, names, spec, site, plan, known)


def brief(found: tuple[Finding, ...]) -> list[str]:
    """`error train.py:3 graphical-display`"""
    return [" ".join(filter(None, (each.level.value, each.place, each.rule))) for each in found]


def program(root: Path, text: str, **more: Any) -> list[str]:
    """What is found in a program of these lines, in short."""
    return brief(findings(root, {"train.py": text}, **more))
