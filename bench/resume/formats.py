"""Programs that know nothing: they write numbered files with the usual libraries, and are killed meanwhile.

What is resumed from is chosen as an attempt does it; that it is whole, its own library says by loading it.
"""

from __future__ import annotations

import collections
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from voyageur.job.checkpoint_files import newest_whole

_WRITER = """
import json, os, pickle, sys
import numpy
kind, folder, latest = sys.argv[1:]


def h5(path, step, weights):
    import h5py
    with h5py.File(path, "w") as file:
        for name, value in weights.items():
            file[name] = value
        file.attrs["step"] = step


def load_h5(path):
    import h5py
    with h5py.File(path) as file:
        return int(file.attrs["step"]), {name: file[name][:] for name in file}


def safetensors(path, step, weights):
    from safetensors.numpy import save_file
    save_file({**weights, "step": numpy.array([step])}, path)


def load_safetensors(path):
    from safetensors.numpy import load_file
    found = load_file(path)
    return int(found.pop("step")[0]), found


def npz(path, step, weights):
    numpy.savez(path, step=step, **weights)


def load_npz(path):
    with numpy.load(path) as found:
        return int(found["step"]), {name: found[name] for name in found if name != "step"}


def pkl(path, step, weights):
    with open(path, "wb") as file:
        pickle.dump((step, weights), file)


def load_pkl(path):
    with open(path, "rb") as file:
        return pickle.load(file)


def write_json(path, step, weights):
    with open(path, "w") as file:
        json.dump([step, {name: value[:2000].tolist() for name, value in weights.items()}], file)


def load_json(path):
    with open(path) as file:
        return json.load(file)


save, load = {
    "npz": (npz, load_npz), "h5": (h5, load_h5), "safetensors": (safetensors, load_safetensors),
    "pkl": (pkl, load_pkl), "json": (write_json, load_json),
}[kind]
step = 0
if latest:
    step, weights = load(latest)
    assert len(weights) == 20 and all(len(value) and (numpy.array(value) == step).all() for value in weights.values())
print(step, flush=True)
while True:
    step += 1
    save(os.path.join(folder, "step-%08d.%s" % (step, kind)), step, {"layer%d" % n: numpy.full(20_000, step) for n in range(20)})
    for old in range(step - 6, step - 4):
        if os.path.exists(os.path.join(folder, "step-%08d.%s" % (old, kind))):
            os.unlink(os.path.join(folder, "step-%08d.%s" % (old, kind)))
"""  # noqa: E501 - a program's text
KINDS = ("npz", "h5", "safetensors", "pkl", "json")


def killed(kills: int, seed: int) -> None:
    """So many kills, shared out among the formats that this Python has a library for."""
    kinds = [kind for kind in KINDS if _has(kind)]
    moments, passed = random.Random(seed), collections.Counter[str]()
    for number, kind in enumerate(kinds):
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(kills // len(kinds) + (number < kills % len(kinds))):
                passed[kind] += _kill_once(Path(folder), kind, moments)
    told = ", ".join(f"{kind} {passed[kind]}" for kind in kinds)
    print(f"plain files, {len(kinds)} formats: {kills} kills, {kills} resumes from a whole file; passed over: {told}")


def _has(kind: str) -> bool:
    libraries = {"h5": "h5py", "safetensors": "safetensors", "npz": "numpy", "pkl": "numpy", "json": "numpy"}
    return not subprocess.run(
        [sys.executable, "-c", f"import {libraries[kind]}"], capture_output=True, check=False
    ).returncode


def _kill_once(folder: Path, kind: str, moments: random.Random) -> int:
    """How many half-written files were passed over. A process that cannot load what was chosen ends by itself."""
    choice = newest_whole(str(folder), f"step-*.{kind}")
    latest = choice.newest.path if choice.newest else ""
    argv = [sys.executable, "-c", _WRITER, kind, str(folder), latest]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout and process.stderr
    first = process.stdout.readline()
    time.sleep(moments.uniform(0.0, 0.2))
    process.send_signal(signal.SIGKILL)
    errors = process.communicate()[1]
    if process.returncode != -signal.SIGKILL or not first.strip().isdigit():
        raise RuntimeError(f"{latest} was chosen, and cannot be loaded:\n{errors}")
    return len(choice.passed_over)
