"""Ranks of a step on a Slurm that follows processes by their parents: srun's signals reach programs directly."""

from __future__ import annotations

from tests.place import Place

SAVER = """
import signal, sys, time
def save(*_):
    time.sleep(1)
    print("saved", flush=True)
    sys.exit(0)
signal.signal(signal.SIGTERM, save)
print("ready", flush=True)
while True: time.sleep(0.1)
"""
COUNTER = """
import signal, time
signal.signal(signal.SIGUSR1, lambda *_: print("heard", flush=True))
print("ready", flush=True)
time.sleep(5)
"""
DEAF = "import time\nprint('ready', flush=True)\ntime.sleep(5)\nprint('over', flush=True)\n"
RANKS = ("-n", "2", "--tasks", "2", "-W", "per-rank", "--", "python3", "rank.py")


def test_ranks_that_listen_to_sigterm_save_before_they_end(simple: Place) -> None:
    simple.write("rank.py", SAVER)
    run = simple.submit(*RANKS)
    simple.until(lambda: simple.log(run).count("ready") == 4)
    simple.voy("cancel", run)
    assert simple.wait(run, code=1)["state"] == "cancelled"
    assert simple.log(run).count("saved") == 4


def test_ranks_that_hear_nothing_do_not_die_of_the_warning(simple: Place) -> None:
    simple.write("rank.py", DEAF)
    run = simple.submit(*RANKS)
    simple.until(lambda: simple.log(run).count("ready") == 4)
    simple.voy("stop", run)
    simple.wait(run)
    assert simple.log(run).count("over") == 4


def test_ranks_hear_the_warning_once(simple: Place) -> None:
    simple.write("rank.py", COUNTER)
    run = simple.submit(*RANKS)
    simple.until(lambda: simple.log(run).count("ready") == 4)
    simple.voy("stop", run)
    assert simple.wait(run)["state"] == "stopped"
    assert simple.log(run).count("heard") == 4


HANGS = """
import os, threading
print("begun", os.environ["RANK"], flush=True)
threading.Event().wait()
"""


def test_a_hang_is_told_and_the_lines_of_ranks_and_nodes_are_found(slurm: Place) -> None:
    slurm.write("rank.py", HANGS)
    slurm.write("voyageur.toml", "[launch]\nquiet = '2s'\n")
    run = slurm.submit(*RANKS)
    slurm.until(lambda: slurm.log(run).count("begun") == 4)
    assert slurm.voy("logs", "--rank", "3", run).stdout == "3: begun 3\n"
    (met,) = [event for event in slurm.status(run)["events"] if event["event"] == "ranks meet"]
    of_node = slurm.voy("logs", "--node", met["nodes"][1], run).stdout
    assert sorted(of_node.splitlines()) == ["2: begun 2", "3: begun 3"]
    slurm.until(lambda: "does it hang?" in slurm.voy("status", run).stdout, 60)
    slurm.voy("cancel", run)
    assert slurm.wait(run, code=1)["state"] == "cancelled"
