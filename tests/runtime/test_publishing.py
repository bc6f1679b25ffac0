"""What is published is whole, whenever the program is killed; an attempt that another followed publishes nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.runtime.scripts import SOURCE, answer
from voyageur.job.checkpoint_files import MANIFEST, newest_whole
from voyageur.runtime.progress import Progress

WRITER = """
import os, sys
from voyageur import job
path, step = job.checkpoint.latest(), 0
if path:
    with open(path, "rb") as file:
        content = file.read()
    step = int(content[:8])
    assert content == b"%08d" % step + bytes([step % 251]) * 300_000, "it is not whole"
print(step, flush=True)
while True:
    step += 1
    with job.checkpoint.writing("step-%08d.bin" % step) as file:
        file.write(b"%08d" % step)
        file.write(bytes([step % 251]) * 300_000)
    for old in range(step - 5, step - 3):
        if os.path.exists(os.path.join(job.checkpoint.folder(), "step-%08d.bin" % old)):
            os.unlink(os.path.join(job.checkpoint.folder(), "step-%08d.bin" % old))
"""


def around(folder: Path, **more: str) -> dict[str, str]:
    return {"PYTHONPATH": str(SOURCE), "PATH": "/usr/bin:/bin", "VOY_CHECKPOINTS": str(folder), **more}


# Also what `python -m bench.resume` does, 200 times.
def kill_at_random(folder: Path, times: int, seed: int) -> list[int]:
    """The step that each process began at. One that finds a checkpoint that is not whole ends by itself."""
    moments, began = random.Random(seed), []
    for _ in range(times):
        process = subprocess.Popen(
            [sys.executable, "-c", WRITER],
            env=around(folder),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout and process.stderr
        first = process.stdout.readline()
        time.sleep(moments.uniform(0.0, 0.05))
        process.send_signal(signal.SIGKILL)
        errors = process.communicate()[1]
        assert process.returncode == -signal.SIGKILL and first.strip().isdigit(), errors
        began.append(int(first))
    return began


def test_after_a_kill_at_any_moment_the_newest_checkpoint_is_whole(tmp_path: Path) -> None:
    began = kill_at_random(tmp_path, 20, seed=5)
    assert began == sorted(began), "an older one was taken although a newer one had been published"
    assert began[-1] > 0


PUBLISH = """
import sys
from voyageur import job
with job.checkpoint.writing(sys.argv[1]) as file:
    file.write(b"content")
"""


def test_a_stale_attempt_publishes_nothing(tmp_path: Path) -> None:
    run, folder = tmp_path / "run", tmp_path / "checkpoints"
    run.mkdir()
    folder.mkdir()
    (run / "attempt-2.json").write_text("{}")
    for attempt, code in (("1", 1), ("2", 0)):
        environment = around(folder, VOY_RUN_DIR=str(run), VOY_ATTEMPT=attempt)
        process = subprocess.run(
            [sys.executable, "-c", PUBLISH, f"by-{attempt}.bin"],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert process.returncode == code, process.stderr
        assert ("attempt 2 of this run has taken over" in process.stderr) == bool(code)
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, "by-2.bin"]


def test_a_published_file_is_measured_when_it_is_chosen(tmp_path: Path) -> None:
    for name in ("a.bin", "b.bin"):
        subprocess.run([sys.executable, "-c", PUBLISH, name], env=around(tmp_path), check=True)
    damaged = tmp_path / "b.bin"
    written = damaged.stat()
    damaged.write_bytes(b"cONTENT")
    os.utime(damaged, ns=(written.st_atime_ns, written.st_mtime_ns))
    choice = newest_whole(str(tmp_path))
    assert choice.newest is not None and choice.newest.name == "a.bin"
    assert "checksum" in choice.passed_over[0][1]
    (tmp_path / MANIFEST).write_text((tmp_path / MANIFEST).read_text()[:-20])  # its last line was cut off
    assert json.loads((tmp_path / MANIFEST).read_text().splitlines()[0])["name"] == "a.bin"
    subprocess.run([sys.executable, "-c", PUBLISH, "c.bin"], env=around(tmp_path), check=True)
    assert json.loads((tmp_path / MANIFEST).read_text().splitlines()[-1])["name"] == "c.bin"


PUBLISH_FOLDER = """
import os, sys
from voyageur import job
made = os.path.join(sys.argv[1], "made")
os.makedirs(os.path.join(made, "rank-0"))
open(os.path.join(made, "rank-0", "weights.bin"), "w").write(sys.argv[2])
job.checkpoint.publish(made, "epoch-1")
"""


def test_a_folder_is_published_whole_and_in_place_of_an_older_one(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    for number, content in enumerate(("first", "second")):
        work = tmp_path / str(number)
        argv = [sys.executable, "-c", PUBLISH_FOLDER, str(work), content]
        subprocess.run(argv, env=around(folder), check=True)
    assert sorted(path.name for path in folder.iterdir()) == [MANIFEST, "epoch-1"]
    weights = folder / "epoch-1" / "rank-0" / "weights.bin"
    assert weights.read_text() == "second"
    assert (chosen := newest_whole(str(folder)).newest) and chosen.published and chosen.name == "epoch-1"
    before = weights.stat()
    weights.write_text("sEcond")
    os.utime(weights, ns=(before.st_atime_ns, before.st_mtime_ns))
    choice = newest_whole(str(folder))
    assert choice.newest is None and "checksum" in choice.passed_over[0][1]


@pytest.mark.parametrize("name", ["a/b", "../x", ".hidden"])
def test_a_name_that_leads_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    process = subprocess.run(
        [sys.executable, "-c", PUBLISH, name], env=around(tmp_path), capture_output=True, text=True, check=False
    )
    assert process.returncode == 1 and "plain file name" in process.stderr


def test_the_helpers_cost_no_import_until_they_are_used() -> None:
    text = "import sys; from voyageur import job; print('voyageur.job.checkpoint' in sys.modules); job.checkpoint; " \
           "print('voyageur.job.checkpoint' in sys.modules, isinstance(job.checkpoints, str))"  # fmt: skip
    assert answer(text).split() == ["False", "True", "True"]


def test_outside_a_run_everything_answers_sensibly(tmp_path: Path) -> None:
    text = "from voyageur import job; job.done(); print(job.should_save(), job.should_stop(), job.checkpoint.latest())"
    assert answer(text, cwd=str(tmp_path)) == "False False None\n"


def test_progress_is_a_line_that_its_reader_knows(tmp_path: Path) -> None:
    log = tmp_path / "output.log"
    log.touch()
    reader = Progress(str(log), "")
    text = "from voyageur import job; job.progress(1234567, 2e6); job.progress(1234568.5)"
    log.write_text("3: " + answer(text))
    reader.read()
    assert (reader.done, reader.total) == (1234568.5, 2e6)
