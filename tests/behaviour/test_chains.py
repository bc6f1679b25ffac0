"""A run that is longer than the queue allows goes on in pieces, the same on every engine.

Slurm's smallest limit is a minute; a warning 30 seconds before it comes after 10 to 30.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal

import pytest

from tests import trainer
from tests.place import Place

STEPS = 150  # at a tenth of a second each


def piece(place: Place) -> tuple[str, str]:
    return ("60s", "30s") if place.bed else ("8s", "3s")


def queued(place: Place, run: str) -> list[str]:
    """What Slurm has of it that has not ended."""
    assert place.bed
    name = json.loads((place.folder(run) / "run.json").read_text())["job_name"]
    return place.bed.run(["squeue", "--noheader", f"--name={name}", "--format=%i %T"]).stdout.splitlines()


def events(place: Place, run: str, name: str) -> list[dict[str, object]]:
    return [event for event in place.status(run)["events"] if event["event"] == name]


def test_a_chain_goes_on_where_the_piece_before_it_ended_and_ends_when_all_is_done(place: Place) -> None:
    time, warn = piece(place)
    trainer.prepare(place, warn=warn, chain=10, keep=2)
    steps = {"S": 3, "P": 6}[place.bed.kind] * STEPS if place.bed else STEPS
    run = place.submit("-t", time, *trainer.command(steps))
    ended = place.wait(run, code=0)
    log = place.log(run)
    assert ended["state"] == "done", log
    assert trainer.result(steps) in log
    assert trainer.lost(log) == 0, log
    assert ended["attempt"] == len(trainer.begins(log)) >= (3 if place.bed and place.bed.kind == "P" else 2)
    assert len(list(place.scratch.glob("project/train/checkpoints/step-*"))) <= 3
    if place.bed:
        place.until(lambda: queued(place, run) == [], 20)
        assert events(place, run, "duplicate left") == [], "a piece was started only to find that nothing was left"


def test_without_listening_a_chain_loses_no_more_than_the_steps_since_its_last_checkpoint(local: Place) -> None:
    trainer.prepare(local, warn="1s", chain=5)
    local.write("train.py", trainer.SOURCE.replace("job.should_stop()", "False"))
    run = local.submit("-t", "4s", *trainer.command(70, every=10))
    ended = local.wait(run, code=0)
    log = local.log(run)
    assert trainer.result(70) in log
    assert 0 < trainer.lost(log) <= 10 * (ended["attempt"] - 1)


def started_now(place: Place, run: str) -> bool:
    """Is it over? If it waits, its two minutes are spared: Slurm warns so early that it may wait several times."""
    assert place.bed
    status = place.status(run)
    if status["state"] == "pending" and "BeginTime" in status["because"]:
        with contextlib.suppress(TimeoutError):  # it has begun in this very moment
            place.bed.start_now(status["job"], deadline=8)
    return status["state"] in ("done", "failed", "stopped", "timeout")


def warned_by_hand(
    place: Place, times: int, before: str = "", steps: int = 100, after: int = 5, **checkpoint: object
) -> str:
    """A run whose first pieces have ended so, each after some steps."""
    trainer.prepare(place, **checkpoint)
    text = (place.project / "voyageur.toml").read_text()
    place.write("voyageur.toml", f"requeue = false\n{before}{text}")
    run = place.submit("-t", "10m", *trainer.command(steps))
    for piece in range(times):
        place.until(lambda: len(trainer.begins(place.log(run))) == piece + 1, 60)  # noqa: B023 - asked at once
        begun = trainer.begins(place.log(run))[-1]
        place.until_logged(run, f"step {begun + after}/")
        trainer.warn(place, run)
    return run


def test_a_chain_that_is_done_early_leaves_no_job_and_spends_nothing_more(production: Place) -> None:
    """Ten pieces, of which it needs four."""
    assert production.bed
    run = warned_by_hand(production, 3, chain=10)
    ended = production.wait(run, code=0)
    assert (ended["state"], ended["attempt"]) == ("done", 4)
    assert trainer.result(100) in production.log(run) and trainer.lost(production.log(run)) == 0
    production.until(lambda: queued(production, run) == [], 20)
    name = json.loads((production.folder(run) / "run.json").read_text())["job_name"]
    ask = ["sacct", "--noheader", "--parsable2", "--allocations", f"--name={name}", "--starttime=now-1hour"]

    def rows() -> list[list[str]]:
        answer = production.bed.run([*ask, "--state=CD,CA,F,TO", "--endtime=now", "--format=State,ElapsedRaw"])  # type: ignore[union-attr]
        return [line.split("|") for line in answer.stdout.splitlines()]

    production.until(lambda: [state for state, _ in rows()].count("COMPLETED") == 4, 30)
    assert all(elapsed == "0" for state, elapsed in rows() if state != "COMPLETED"), rows()


def test_a_chain_that_needs_more_pieces_than_planned_says_so_and_adds_them(simple: Place) -> None:
    run = warned_by_hand(simple, 3, chain=2)
    ended = simple.wait(run, code=0)
    log = simple.log(run)
    assert (ended["state"], ended["attempt"]) == ("done", 4), log
    assert trainer.result(100) in log and trainer.lost(log) == 0
    assert [event["planned"] for event in events(simple, run, "more pieces")] == [2, 2]
    assert log.index("2 pieces were planned; it needs 1 more") < log.index("attempt 3 of")
    simple.until(lambda: queued(simple, run) == [], 20)


def test_this_machine_adds_pieces_as_well(local: Place) -> None:
    trainer.prepare(local, chain=2, warn="1s")
    run = local.submit("-t", "7s", *trainer.command(130))
    ended = local.wait(run, code=0)
    log = local.log(run)
    assert ended["state"] == "done" and ended["attempt"] in (3, 4), log
    assert trainer.result(130) in log and trainer.lost(log) == 0
    assert log.index("2 pieces were planned; it needs ") < log.index("attempt 3 of")


SHELL = """\
echo "begins at ${1:-nothing}"
[ "$1" = end ] && { echo "has ended"; exit 0; }
until [ -e "$VOY_STOP_FILE" ]; do sleep 0.1; done
echo end >"$VOY_CHECKPOINTS/state.txt"
exit 3
"""


def test_in_a_chain_the_next_piece_asks_a_program_that_ended_behind_the_warning(local: Place) -> None:
    """In a language of which nobody sees that it has looked for the stop file."""
    local.write("work.sh", SHELL)
    local.write("voyageur.toml", "[checkpoint]\nchain = 4\nwarn = '2s'\npattern = '*.txt'\nresume = 'end'\n")
    ended = local.finish("-t", "4s", "--", "sh", "work.sh")
    assert (ended["state"], ended["attempt"]) == ("done", 2)
    assert "begins at end\nhas ended" in local.log(ended["run"])


@pytest.mark.parametrize("may_cancel", [True, False], ids=["", "nor cancel"])
def test_where_jobs_may_not_submit_all_pieces_wait_from_the_beginning(simple: Place, may_cancel: bool) -> None:
    simple.voy("site", "probe", "--name", "lab", "--write")
    profile = simple.home / ".config/voyageur/sites/lab.toml"
    profile.write_text(profile.read_text().replace("[limits]\n", "[limits]\nsbatch_in_jobs = false\n"))
    simple.environment["VOY_SITE"] = "lab"
    tools = simple.root / "on-nodes"
    tools.mkdir()
    for name in ["sbatch"] if may_cancel else ["sbatch", "scancel"]:
        (tools / name).write_text(f"#!/bin/bash\ntouch {tools}/{name}-was-called\necho not from here >&2\nexit 1\n")
        (tools / name).chmod(0o755)
    path = f'[env.variables]\nPATH = "{tools}:{simple.environment["PATH"]}"\n'
    run = warned_by_hand(simple, 1, path, steps=60, chain=5, by="successors")
    assert len([event for event in events(simple, run, "successor submitted") if "job" not in event]) == 4
    ended = simple.wait(run, code=0)
    assert (ended["state"], ended["attempt"]) == ("done", 2)
    assert trainer.result(60) in simple.log(run) and trainer.lost(simple.log(run)) == 0
    simple.until(lambda: queued(simple, run) == [], 40)
    assert not (tools / "sbatch-was-called").exists()
    left = events(simple, run, "duplicate left")
    assert len(left) == (0 if may_cancel else 3)
    assert all("this run has ended: done" in str(event["reason"]) for event in left)
    assert simple.status(run)["state"] == "done"


def test_the_last_piece_asks_for_no_more_time_than_is_left(simple: Place) -> None:
    """Ten minutes each; the first one is warned by hand, when a few seconds of work are left, and not in its first
    second: how long a step takes is known from the second look at the log."""
    assert simple.bed
    run = warned_by_hand(simple, 1, after=30, chain=3)
    assert simple.wait(run, code=0)["state"] == "done"
    log = simple.log(run)
    assert trainer.result(100) in log and trainer.lost(log) == 0, log
    (sized,) = events(simple, run, "piece sized")
    assert sized["time_limit"] == 120 and "the next piece asks for 2 min only" in log
    second = events(simple, run, "attempt started")[1]["job"]
    assert simple.bed.job(str(second))["TimeLimit"] == "00:02:00"


@pytest.mark.parametrize("by", ["successors", "requeue"])
def test_the_other_ways_of_a_chain(slurm: Place, by: str) -> None:
    assert slurm.bed
    trainer.prepare(slurm, chain=4, by=by)
    run = slurm.submit("-t", "60s", *trainer.command(3 * STEPS))
    if by == "requeue":
        slurm.until(lambda: slurm.status(run)["state"] == "pending" and slurm.status(run)["attempt"] == 1, 90)
        assert "attempt 2 waits" in slurm.status(run)["because"]
        slurm.until(lambda: started_now(slurm, run), 200)
    ended = slurm.wait(run, code=0)
    assert ended["state"] == "done" and trainer.result(3 * STEPS) in slurm.log(run)
    assert trainer.lost(slurm.log(run)) == 0
    slurm.until(lambda: queued(slurm, run) == [], 20)


def test_cancel_ends_all_pieces(place: Place) -> None:
    trainer.prepare(place, warn=piece(place)[1], chain=5)
    run = place.submit("-t", piece(place)[0], *trainer.command(10_000))
    place.until_logged(run, "step 3/")
    place.voy("cancel", run)
    ended = place.wait(run, code=1)
    assert ended["state"] == "cancelled" and ended["attempt"] == 1
    if place.bed:
        place.until(lambda: queued(place, run) == [], 20)


def test_a_failure_ends_the_chain(place: Place) -> None:
    trainer.prepare(place, chain=5)
    place.write("train.py", "print('begun', flush=True); raise SystemExit(4)")
    run = place.submit("-t", "60s", *trainer.command(10))
    ended = place.wait(run, code=1)
    assert (ended["state"], ended["attempt"]) == ("failed", 1)
    if place.bed:
        place.until(lambda: queued(place, run) == [], 20)


def test_a_failure_that_may_be_retried_is(place: Place) -> None:
    place.write("flaky.py", "import os; print('try', os.environ['VOY_ATTEMPT'], flush=True)\n"
                            "raise SystemExit(4 if int(os.environ['VOY_ATTEMPT']) < 3 else 0)")  # fmt: skip
    place.write("voyageur.toml", "retry.failures = 2\ncheckpoint.chain = 5\n")
    run = place.submit("-t", "60s", "--", "python", "flaky.py")
    ended = place.wait(run, code=0)
    assert (ended["state"], ended["attempt"]) == ("done", 3)


def test_a_run_that_is_not_cut_is_tried_again_on_this_machine(local: Place) -> None:
    local.write("flaky.py", "import os; raise SystemExit(4 if int(os.environ['VOY_ATTEMPT']) < 3 else 0)")
    local.write("voyageur.toml", "retry.failures = 2\n")
    ended = local.finish("--", "python", "flaky.py")
    assert (ended["state"], ended["attempt"]) == ("done", 3)


def test_more_time_is_asked_for_once_where_that_is_allowed(simple: Place) -> None:
    """Ten minutes; the end of each is told by hand. The second has half as much more, and there is no third."""
    assert simple.bed
    run = warned_by_hand(simple, 2, before="retry.time = 1.5\n", steps=10_000)
    ended = simple.wait(run, code=1)
    assert (ended["state"], ended["attempt"]) == ("stopped", 2)
    (raised,) = events(simple, run, "more time")
    assert (raised["before"], raised["now"]) == (600, 900)
    second = events(simple, run, "attempt started")[1]["job"]
    assert simple.bed.job(str(second))["TimeLimit"] == "00:15:00"
    assert "its 10 min were up; once more, with 15" in simple.log(run) and trainer.lost(simple.log(run)) == 0


def test_without_progress_a_chain_ends_after_three_pieces(local: Place) -> None:
    local.write("stuck.py", "import time; from voyageur import job\nwhile not job.should_stop(): time.sleep(0.1)\n")
    local.write("voyageur.toml", "[checkpoint]\nchain = 8\nwarn = '2s'\npattern = '*.pt'\n")
    ended = local.finish("-t", "4s", "--", "python", "stuck.py")
    assert (ended["state"], ended["attempt"]) == ("failed", 4)
    assert "came no further" in ended["because"]


def test_a_program_may_say_that_all_is_done(local: Place) -> None:
    local.write("stop.py", "import sys, time; from voyageur import job\nwhile not job.should_stop(): time.sleep(0.1)\n"
                           "job.done(); sys.exit(1)")  # fmt: skip
    local.write("voyageur.toml", "[checkpoint]\nchain = 3\nwarn = '2s'\n")
    ended = local.finish("-t", "4s", "--", "python", "stop.py")
    assert (ended["state"], ended["attempt"]) == ("done", 1)


def test_a_file_may_say_that_all_is_done(local: Place) -> None:
    local.write(
        "stop.py",
        "import os, sys, time; from voyageur import job\nwhile not job.should_stop(): time.sleep(0.1)\n"
        "open(os.path.join(job.checkpoints, 'final.bin'), 'w').write('x'); sys.exit(1)",
    )
    local.write("voyageur.toml", "[checkpoint]\nchain = 3\nwarn = '2s'\nfinished = 'final.*'\n")
    ended = local.finish("-t", "4s", "--", "python", "stop.py")
    assert (ended["state"], ended["attempt"]) == ("done", 1)


def test_a_damaged_newest_checkpoint_is_passed_over_and_the_log_says_so(local: Place) -> None:
    trainer.prepare(local)
    first = local.finish(*trainer.command(20, every=5))
    assert first["state"] == "done"
    folder = local.scratch / "project/train/checkpoints"
    (folder / "step-00020.json").write_bytes((folder / "step-00020.json").read_bytes()[:-5])
    run = local.finish(*trainer.command(25))["run"]
    log = local.log(run)
    assert "step-00020.json is passed over" in log and "it goes on from step-00015.json" in log
    assert trainer.begins(log) == [15] and trainer.result(25) in log


def test_words_of_the_command_are_filled_in_only_when_there_is_a_checkpoint(local: Place) -> None:
    local.write("say.py", "import os, sys; print('argv', sys.argv[1:], flush=True)\n"
                          "open(os.path.join(os.environ['VOY_CHECKPOINTS'], 'a b.bin'), 'w').write('x')")  # fmt: skip
    local.write("voyageur.toml", "[checkpoint]\nresume = '--load {latest} --strict'\n")
    expected = str(local.scratch / "project/say/checkpoints/a b.bin")
    first = local.finish("--", "python", "say.py", "--lr", "1")["run"]
    assert "argv ['--lr', '1']" in local.log(first)
    second = local.finish("--", "python", "say.py", "--lr", "1")["run"]
    assert f"argv ['--lr', '1', '--load', {expected!r}, '--strict']" in local.log(second)
    third = local.finish("--", "python", "say.py", "{resume}", "--lr", "{latest}")["run"]
    assert f"argv ['--load', {expected!r}, '--strict', '--lr', {expected!r}]" in local.log(third)


TRACKED = """\
import csv, os, sys, time
from voyageur import job

folder, path = sys.argv[1], job.checkpoint.latest()
done = int(open(path).read()) if path else 0
os.makedirs(folder, exist_ok=True)
print("tracked as", os.environ["WANDB_RUN_ID"], os.environ["WANDB_RESUME"], folder, flush=True)
table = os.path.join(folder, "loss.csv")
rows = list(csv.DictReader(open(table))) if os.path.exists(table) else []
with open(table, "w", newline="") as file:  # what a killed attempt had written behind its checkpoint is computed again
    writer = csv.DictWriter(file, ["step", "attempt"])
    writer.writeheader()
    writer.writerows(row for row in rows if int(row["step"]) <= done)
    while done < 60 and not job.should_stop():
        time.sleep(0.1)
        done += 1
        writer.writerow({"step": done, "attempt": job.attempt})
        file.flush()
        if done % 10 == 0:
            with job.checkpoint.writing("step-%d.txt" % done) as saved:
                saved.write(str(done).encode())
    with job.checkpoint.writing("step-%d.txt" % done) as saved:
        saved.write(str(done).encode())
"""


def test_all_attempts_share_their_tracker_their_folder_and_their_table(local: Place) -> None:
    """The recipe of docs/long-runs.md: one piece is cut, one is killed behind its checkpoint."""
    trainer.write_spec(local, "", pattern="step-*.txt", warn="3s", chain=6)
    local.write("train.py", TRACKED)
    run = local.submit("-t", "6s", "--", "python", "train.py", "{scratch}/{run}/tracked")
    local.until(lambda: local.log(run).count("tracked as") == 2)
    table = next(local.scratch.glob("*/")) / run / "tracked" / "loss.csv"
    local.until(lambda: len([line for line in table.read_text().splitlines() if line.endswith(",2")]) > 3, 10)
    os.kill(json.loads(next(local.folder(run).glob("attempt-*.json")).read_text())["pid"], signal.SIGKILL)
    assert local.wait(run, code=0)["attempt"] >= 3
    assert len({line for line in local.log(run).splitlines() if line.startswith("tracked as")}) == 1
    rows = [line.split(",") for line in table.read_text().splitlines()[1:]]
    assert [int(step) for step, _ in rows] == list(range(1, 61))
    assert {attempt for _, attempt in rows} >= {"1", "3"}
