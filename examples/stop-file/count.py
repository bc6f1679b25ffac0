"""The same as in warning-signal, for programs that cannot catch signals: they ask now and then whether to stop."""

import argparse
import os
import time
from pathlib import Path

from voyageur import job  # found inside every run, with nothing installed

parser = argparse.ArgumentParser()
parser.add_argument("--out", default=".")
parser.add_argument("--steps", type=int, default=300)
options = parser.parse_args()
state = Path(options.out) / "state.txt"

step = int(state.read_text()) if state.exists() else 0
print(f"starting at step {step} in {job.run}, attempt {job.attempt}")
while step < options.steps and not job.should_stop():
    time.sleep(0.1)
    step += 1
partial = state.with_suffix(".partial")
partial.write_text(str(step))
os.replace(partial, state)
print(f"saved at step {step} of {options.steps}" if step < options.steps else f"all {options.steps} steps are done")
