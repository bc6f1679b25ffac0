"""Trains for as long as it takes, and goes on where it was: the smallest program that may be cut into pieces."""

import json
import sys
import time

from voyageur import job

EPOCHS = int(sys.argv[1]) if len(sys.argv) > 1 else 60

path = job.checkpoint.latest()
if path:
    with open(path) as file:
        state = json.load(file)
else:
    state = {"epoch": 0, "weight": 1.0}

while state["epoch"] < EPOCHS and not job.should_stop():
    time.sleep(0.2)
    state = {"epoch": state["epoch"] + 1, "weight": state["weight"] * 0.99}
    with job.checkpoint.writing(f"epoch-{state['epoch']:03}.json") as file:
        file.write(json.dumps(state).encode())
    print(f"epoch {state['epoch']}/{EPOCHS}, weight {state['weight']:.4f}")
