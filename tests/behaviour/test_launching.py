"""Ranks of a step on a Slurm that follows processes by their parents: srun's signals reach programs directly."""

from __future__ import annotations

from pathlib import Path

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


# ── styles that need no package ──────────────────────────────────────────────────────────────────────────────────────


def test_a_line_of_ones_own_is_filled_in_on_each_node(slurm: Place) -> None:
    example = Path(__file__).parents[2] / "examples" / "custom"
    for name in ("hello.py", "voyageur.toml"):
        slurm.write(name, (example / name).read_text())
    ended = slurm.finish()
    log = slurm.log(ended["run"])
    assert ended["state"] == "done", log
    assert "node 0 of 2, the first is " in log and "node 1 of 2, the first is " in log


LEAVES = """
import os, sys, time
if os.environ["SLURM_NODEID"] == "1":
    sys.exit(4)
time.sleep(100)
"""


def test_the_node_that_failed_is_named_and_ends_the_others(slurm: Place) -> None:
    slurm.write("leaves.py", LEAVES)
    ended = slurm.finish("-n", "2", "-W", "per-node", "--", "python3", "leaves.py")
    (met,) = [event for event in ended["events"] if event["event"] == "ranks meet"]
    assert (ended["state"], ended["because"]) == ("failed", f"on {met['nodes'][1]}: exit code 4")


TWIN = """
import os, sys, time
copy = os.environ["VOY_COPY"]
if copy == "1":
    sys.exit(3)
time.sleep(1)
print("copy", copy, "of", os.environ["VOY_COPIES"], flush=True)
"""


def test_copies_go_on_when_one_of_them_fails(slurm: Place) -> None:
    slurm.write("twin.py", TWIN)
    ended = slurm.finish("-n", "2", "-W", "replicas", "--tasks", "2", "--", "python3", "twin.py")
    assert ended["because"].startswith("rank 1 on ") and ended["because"].endswith(": exit code 3")
    log = slurm.log(ended["run"])
    assert all(f"copy {number} of 4" in log for number in (0, 2, 3))
