"""A run in bad company: a disk that fills or goes away for a while, sick tools, orphans, strange folders."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path

from tests.place import VOY, Place

BEGIN = "import time; print('begun', flush=True); time.sleep({})"


def test_a_file_system_that_is_gone_for_a_while_does_not_kill_the_run(local: Place) -> None:
    local.write("slow.py", BEGIN.format(7))
    run = local.submit("--", "python", "slow.py")
    local.until_logged(run, "begun")
    folder = local.folder(run)
    time.sleep(0.5)
    folder.rename(local.root / "away")
    time.sleep(4)
    (local.root / "away").rename(folder)
    assert local.wait(run, code=0)["state"] == "done"


def test_a_full_disk_does_not_hide_how_it_ended(local: Place) -> None:
    local.write(
        "fill.py",
        "import contextlib, os\n"
        "with contextlib.suppress(OSError), open(os.environ['VOY_CHECKPOINTS'] + '/big', 'wb', buffering=0) as file:\n"
        "    while True: file.write(b'x' * 4096)\n",
    )
    script = 'mount -t tmpfs -o size=2m none "$SCRATCH" && "$@"; cat "$SCRATCH"/*/hpc_outputs/*/done.json'
    as_root = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    answer = subprocess.run(
        ["unshare", *as_root, "--mount", "bash", "-c", script, "bash", *VOY, "run", "--", "python", "fill.py"],
        cwd=local.project, env=local.environment, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert json.loads(answer.stdout[answer.stdout.index("{") :])["end"] == "done", answer.stderr


def test_a_sick_gpu_tool_does_not_keep_a_stop_from_the_program(local: Place) -> None:
    tool = local.root / "sick" / "nvidia-smi"
    tool.parent.mkdir()
    tool.write_text("#!/bin/bash\nexec sleep 120\n")
    tool.chmod(0o755)
    local.write("voyageur.toml", f'[env.variables]\nPATH = "{tool.parent}:{os.environ["PATH"]}"\n')
    local.write(
        "save.py",
        "import signal, sys, time\n"
        "signal.signal(signal.SIGTERM, lambda *_: (print('saved', flush=True), sys.exit(0)))\n"
        "print('begun', flush=True)\n"
        "time.sleep(200)\n",
    )
    run = local.submit("--", "python", "save.py")
    local.until_logged(run, "begun")
    time.sleep(2.5)
    local.voy("cancel", run)
    assert local.wait(run, code=1)["state"] == "cancelled"
    assert "saved" in local.log(run)


def test_orphans_that_ended_do_not_pile_up(local: Place) -> None:
    local.write(
        "fork.py",
        "import os, pathlib, subprocess, time\n"
        "for _ in range(40): subprocess.run(['bash', '-c', '(true &)'])\n"
        "time.sleep(2)\n"
        "stats = [p.read_text().rpartition(')')[2].split() for p in pathlib.Path('/proc').glob('[0-9]*/stat')]\n"
        "print('zombies', sum(s[0] == 'Z' and int(s[1]) == os.getppid() for s in stats))\n",
    )
    ended = local.finish("--", "python", "fork.py")
    assert int(local.log(ended["run"]).split("zombies ")[1]) < 5


def test_modules_of_the_users_own_do_not_reach_the_supervisor(local: Place) -> None:
    local.write("own/select.py", "raise SystemExit('not the one of the library')")
    local.write("voyageur.toml", f'[env.variables]\nPYTHONPATH = "{local.project}/own"\n')
    ended = local.finish("--", "bash", "-c", "echo $PYTHONPATH")
    assert ended["state"] == "done" and str(local.project) in local.log(ended["run"])


def test_a_folder_that_is_gone_is_no_reason_not_to_answer(local: Place) -> None:
    local.write("ok.py", "print(1)")
    run = local.finish("--", "python", "ok.py")["run"]
    gone = local.root / "gone"
    for verb in (["status"], ["status", run], ["logs", run], ["wait", run]):
        gone.mkdir()
        answer = subprocess.run(
            ["bash", "-c", 'rmdir "$PWD"; exec "$@"', "bash", *VOY, *verb],
            cwd=gone, env=local.environment, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
        assert answer.returncode == 0, answer.stderr


def test_the_site_has_a_folder_of_its_own(local: Place) -> None:
    """What lies in $SLURM_TMPDIR already is neither run nor removed."""
    theirs = local.root / "theirs"
    (theirs / "code").mkdir(parents=True)
    (theirs / "code" / "say.py").write_text("print('foreign')")
    (local.home / ".bash_profile").write_text(f"export SLURM_TMPDIR={theirs}\n")
    local.write("say.py", "import os; print('mine', os.environ['SLURM_TMPDIR'], os.environ['VOY_TMP'])")
    ended = local.finish("--", "python", "say.py")
    log = local.log(ended["run"])
    assert "foreign" not in log and f"mine {theirs} {theirs}/voy-" in log
    assert [path.name for path in theirs.iterdir()] == ["code"]


def test_a_done_run_may_be_run_again_by_hand_as_often_as_one_likes(local: Place) -> None:
    local.write("ok.py", "print('again')")
    run = local.finish("--", "python", "ok.py")["run"]
    script = local.folder(run) / "job.sh"
    for number in range(7):
        subprocess.run(
            [str(script)], env={"HOME": str(local.home), "PATH": "/usr/bin:/bin", "SLURM_JOB_ID": f"9{number}"},
            cwd=local.folder(run), timeout=60, check=True, capture_output=True,
        )  # fmt: skip
    assert local.status(run)["state"] == "done" and local.status(run)["attempt"] == 8
    assert len(os.listdir(local.folder(run))) <= 10


def test_an_empty_name_is_nobodys(local: Place) -> None:
    local.write("slow.py", BEGIN.format(60))
    run = local.submit("--", "python", "slow.py")
    for verb in ("cancel", "wait", "logs", "status"):
        assert "is empty" in local.voy(verb, "", code=1).stderr
    assert local.status(run)["state"] == "running"
    local.voy("cancel", run)


def test_scratch_by_two_names_lists_a_run_once(local: Place) -> None:
    local.write("ok.py", "print(1)")
    run = local.finish("--", "python", "ok.py")["run"]
    (local.root / "link").symlink_to(local.scratch)
    local.environment["SCRATCH"] = str(local.root / "link")
    again = local.finish("--", "python", "ok.py")["run"]
    listed = [entry["run"] for entry in json.loads(local.voy("status", "--json").stdout)]
    assert sorted(listed) == sorted([run, again])
    assert local.status(run)["state"] == "done"
    assert Path(local.status(run)["folder"]).exists()
