"""A training that is far too small for its GPU: steps in a second, measured while all its twins are training, too.

`small.py SECONDS TWINS FOLDER`: it warms up, waits in FOLDER until all of its TWINS have, and then counts.
"""

import os
import sys
import time
from pathlib import Path

import torch
from torch import nn

WHICH = ("dense", "convolutions")
WARM = 1.0  # seconds: kernels are loaded when they are first called


def layers(which: str) -> "tuple[nn.Module, torch.Tensor, torch.Tensor]":
    """What many people train: a few dense layers on tables, a small network on small pictures."""
    if which == "dense":
        model = nn.Sequential(nn.Linear(64, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 10))
        return model, torch.randn(256, 64), torch.randint(10, (256,))
    model = nn.Sequential(
        nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(),
        nn.MaxPool2d(2), nn.Flatten(), nn.Linear(64 * 64, 10),
    )  # fmt: skip
    return model, torch.randn(128, 3, 32, 32), torch.randint(10, (128,))


class Training:
    def __init__(self, which: str, device: torch.device) -> None:
        model, inputs, labels = layers(which)
        self.model = model.to(device)
        self.inputs, self.labels = inputs.to(device), labels.to(device)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def steps(self, count: int) -> float:
        for _ in range(count):
            loss = nn.functional.cross_entropy(self.model(self.inputs), self.labels)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
        return float(loss.item())  # waits for the GPU


def wait_for_twins(folder: Path, twins: int) -> None:
    (folder / f"ready-{os.getpid()}").touch()
    deadline = time.monotonic() + 120
    while len(list(folder.glob("ready-*"))) < twins:
        if time.monotonic() > deadline:
            raise SystemExit("the twins did not come")
        time.sleep(0.002)


def measured(which: str, seconds: float, twins: int, folder: Path) -> float:
    training = Training(which, torch.device("cuda" if torch.cuda.is_available() else "cpu"))
    block = 20 if torch.cuda.is_available() else 1
    warm = time.perf_counter() + WARM
    while time.perf_counter() < warm:
        training.steps(block)
    wait_for_twins(folder, twins)
    if which == WHICH[1] and os.environ.get("VOY_COPY") == os.environ.get("FAILS", "none"):
        os._exit(3)
    begin, count = time.perf_counter(), 0
    while time.perf_counter() - begin < seconds:
        training.steps(block)
        count += block
    rate = count / (time.perf_counter() - begin)
    training.steps(5 * block)  # so that no twin is alone while it still counts
    return rate


def main(seconds: float, twins: int, folder: Path) -> None:
    torch.set_num_threads(1)
    shares = bool(os.environ.get("CUDA_MPS_PIPE_DIRECTORY"))
    for which in WHICH:
        place = folder / which
        place.mkdir(exist_ok=True)
        place_of_work = "GPU" if torch.cuda.is_available() else "CPU"
        print(f"{which} rate {measured(which, seconds, twins, place):.1f} mps {shares} on {place_of_work}", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]), int(sys.argv[2]), Path(sys.argv[3]))
