"""A project as large as projects get: modules that import each other, with what training programs are made of."""

from __future__ import annotations

from pathlib import Path

_HEAD = """\
import os
import logging
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

{imports}

log = logging.getLogger(__name__)


@dataclass
class Options{number}:
    rate: float = 1e-3
    folder: str = "results/{number}"
    layers: tuple = (64, 128, 256)

"""
_PART = '''
class Block{number}(nn.Module):
    """Two convolutions and what goes around them."""

    def __init__(self, inputs, outputs, stride=1, dropout=0.1):
        super().__init__()
        self.first = nn.Conv2d(inputs, outputs, kernel_size=3, stride=stride, padding=1, bias=False)
        self.second = nn.Conv2d(outputs, outputs, kernel_size=3, stride=1, padding=1, bias=False)
        self.norms = nn.ModuleList([nn.BatchNorm2d(outputs) for _ in range(2)])
        self.dropout = nn.Dropout(dropout)
        self.shortcut = nn.Identity() if stride == 1 and inputs == outputs else nn.Conv2d(inputs, outputs, 1, stride)

    def forward(self, x):
        y = torch.relu(self.norms[0](self.first(x)))
        y = self.dropout(y)
        y = self.norms[1](self.second(y))
        return torch.relu(y + self.shortcut(x))


def evaluate{number}(model, loader, device="cuda", limit=None):
    correct, total, losses = 0, 0, []
    for step, (x, y) in enumerate(loader):
        if limit is not None and step >= limit:
            break
        x, y = x.to(device), y.to(device)
        logits = model(x)
        losses.append(float(nn.functional.cross_entropy(logits, y)))
        correct += int((logits.argmax(dim=1) == y).sum())
        total += len(y)
        if step % 100 == 0:
            log.info("step %d of %d: loss %.3f", step, len(loader), losses[-1])
    scores = {{"accuracy": correct / max(1, total), "loss": np.mean(losses), "folder": os.getcwd()}}
    return {{name: round(float(value), 4) if name != "folder" else value for name, value in scores.items()}}

'''
_PARTS = 5  # in each module


def make_program(root: Path, lines: int) -> int:
    """How many lines there are in all; `train.py` reaches every one of them."""
    root.mkdir(parents=True)
    written, number = 0, 0
    while written < lines:
        imports = f"from module_{number - 1} import evaluate{number - 1}" if number % 10 else ""
        text = _HEAD.format(imports=imports, number=number) + "".join(
            _PART.format(number=number) for _ in range(_PARTS)
        )
        (root / f"module_{number}.py").write_text(text)
        written += text.count("\n")
        number += 1
    (root / "train.py").write_text("".join(f"import module_{index}\n" for index in range(number)))
    return written + number
