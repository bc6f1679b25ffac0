"""Long work that can be interrupted: on SIGUSR1 it saves and leaves; the next run goes on from there."""

import argparse
import os
import signal
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--out", default=".")
parser.add_argument("--steps", type=int, default=300)
options = parser.parse_args()
state = Path(options.out) / "state.txt"
time_is_up = False


def remember(signum, frame):
    """Only a note: saving happens between two steps, when everything is in order."""
    global time_is_up
    time_is_up = True


def save(step):
    """Under another name first: whoever is killed here leaves the older state whole."""
    partial = state.with_suffix(".partial")
    partial.write_text(str(step))
    os.replace(partial, state)


signal.signal(signal.SIGUSR1, remember)
step = int(state.read_text()) if state.exists() else 0
print(f"starting at step {step}")
while step < options.steps and not time_is_up:
    time.sleep(0.1)
    step += 1
save(step)
print(f"saved at step {step} of {options.steps}" if time_is_up else f"all {options.steps} steps are done")
