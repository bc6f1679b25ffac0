"""Good programs are left alone, whatever the site; and no file, however broken, stops the look."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from tests.plan.wishes import CLUSTER
from tests.readiness.projects import TRAINS, brief, findings
from voyageur.readiness.sources import read_files
from voyageur.site import Site, load_profile, profile_names

ROOT = Path(__file__).parents[2]
EXAMPLES = {
    "plain": "python3 hello.py --out {checkpoints}",
    "per-node": "python3 inventory.py",
    "environment": "python figures.py",
    "per-rank": "python3 share.py --out {checkpoints}",
    "stop-file": "python3 count.py --out {checkpoints}",
    "warning-signal": "python3 count.py --out {checkpoints}",
    "demo": "python3 train.py --out {checkpoints}",
}


def example(root: Path, name: str) -> None:
    source = ROOT / "src/voyageur/demo/project" if name == "demo" else ROOT / "examples" / name
    shutil.copytree(source, root, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__", "voyageur.toml"))


def minded_like(profile: Site) -> Site:
    """A small cluster that minds the same things; what it asks of a request is for other tests."""
    return replace(
        CLUSTER, network=profile.network, software=profile.software, storage=profile.storage, limits=profile.limits
    )


@pytest.mark.parametrize("name", profile_names())
def test_the_examples_are_clean_on_every_site(name: str, tmp_path: Path) -> None:
    profile = load_profile(name)
    for number, (folder, command) in enumerate(EXAMPLES.items()):
        root = tmp_path / str(number)
        example(root, folder)
        assert findings(root, {}, command=command, site=minded_like(profile), time="10m") == ()


TRAINING = """\
import argparse
import os

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import torch
from torch.utils.data import DataLoader


def parse():
    parser = argparse.ArgumentParser(description="shows nothing; see /home/ada/notes for why")
    parser.add_argument("--data", required=True)
    parser.add_argument("--out", default="results")
    parser.add_argument("--show", action="store_true", help="plt.show() at the end")
    return parser.parse_args()


def newest(folder):
    files = sorted(name for name in os.listdir(folder) if name.endswith(".pt"))
    return os.path.join(folder, files[-1]) if files else None


def main():
    args = parse()
    torch.set_float32_matmul_precision("high")
    model = torch.nn.Linear(3, 1)
    first = 0
    if path := newest(args.out):
        state = torch.load(path)
        model.load_state_dict(state["model"])
        first = state["epoch"] + 1
    loader = DataLoader(torch.load(args.data), batch_size=64, num_workers=len(os.sched_getaffinity(0)))
    for epoch in range(first, 100):
        for batch in loader:
            model(batch).sum().backward()
        torch.save({"model": model.state_dict(), "epoch": epoch}, os.path.join(args.out, f"{epoch:04}.pt"))
    plt.plot([1, 2, 3])
    plt.savefig(os.path.join(args.out, "curve.png"))
    if args.show:
        plt.show()


if __name__ == "__main__":
    main()
"""


def test_a_training_as_it_should_be(tmp_path: Path) -> None:
    command = "python train.py --data {scratch}/data.pt --out {checkpoints}"
    assert brief(findings(tmp_path, {"train.py": TRAINING}, command=command, gpus=1, time="1d")) == []
    assert brief(findings(tmp_path, {"train.py": TRAINS}, gpus=1, time="1d")) == []


@pytest.mark.parametrize("ending", ["py", "sh", "ipynb"])
@given(noise=st.lists(st.tuples(st.integers(0, 1_500), st.integers(0, 255)), max_size=6), rest=st.binary(max_size=40))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_can_be_looked_at(ending: str, noise: list[tuple[int, int]], rest: bytes, tmp_path: Path) -> None:
    content = bytearray(TRAINING.encode())
    for place, value in noise:
        content[place % len(content)] = value
    (tmp_path / f"a.{ending}").write_bytes(bytes(content) + rest)
    (module,) = read_files(tmp_path, [f"a.{ending}"])
    assert module.file == f"a.{ending}"
