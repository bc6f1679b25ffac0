"""What a run does, the same on every engine."""

from __future__ import annotations

import json
import os
import shutil
import tarfile
import textwrap
import time
from pathlib import Path

import pytest

from tests.place import Place

NASTY = [
    "a b",
    "c'd",
    '"',
    "$(touch x)",
    "`touch y`",
    "%j",
    "é🙂",
    "line\nbreak",
    "",
    "\\",
    "#",
    "{nothing}",
    "{{run}}",
    "*",
    "--",
    "-x",
    "!!",
    "$HOME",
]

SAY = "import json, os, sys; print(json.dumps({'argv': sys.argv[1:], 'cwd': os.getcwd(), 'env': dict(os.environ)}))"


def said(place: Place, run: str) -> dict[str, object]:
    line = next(line for line in place.log(run).splitlines() if line.startswith("{"))
    return dict(json.loads(line))


def test_arguments_arrive_byte_for_byte(place: Place) -> None:
    place.write("say.py", SAY)
    ended = place.finish("--", "python", "say.py", *NASTY)
    expected = [word.replace("{{run}}", "{run}") for word in NASTY]
    assert ended["state"] == "done"
    assert said(place, ended["run"])["argv"] == expected
    assert not list(place.project.glob("[xy]"))


def test_a_run_finds_what_it_was_promised(place: Place) -> None:
    place.write("src/say.py", SAY)
    run = place.submit("-e", "base", "--", "python", "src/say.py", "{checkpoints}", "{scratch}", "{tmp}", "{run}")
    assert place.wait(run, code=0)["state"] == "done"
    saw = said(place, run)
    env = saw["env"]
    assert isinstance(env, dict)
    scratch = place.scratch / "project"
    assert saw["argv"] == [str(scratch / "base" / "checkpoints"), str(scratch), env["SLURM_TMPDIR"], run]
    assert saw["cwd"] == env["source_dir"] == env["SLURM_TMPDIR"] + "/code"
    assert (scratch / "base" / "checkpoints").is_dir()
    assert env["VOY_RUN"] == run and env["VOY_ATTEMPT"] == "1" and env["VOY_TMP"] == env["SLURM_TMPDIR"]
    assert env["project_name"] == "project" and env["exp_name"] == "base" and env["scratch_dir"] == str(scratch)
    assert env["VOY_RUN_DIR"] == str(place.folder(run))
    assert "SLURM_GET_USER_ENV" not in env, "Slurm reads the user's profiles before it starts the job"


def test_few_files_private_and_nothing_left_on_the_node(place: Place) -> None:
    place.write("work.py", "open('here.txt', 'w').write('x'); print('worked')")
    ended = place.finish("--", "python", "work.py")
    folder = place.folder(ended["run"])
    names = sorted(os.listdir(folder))
    assert len(names) <= 10, names
    assert folder.stat().st_mode & 0o077 == 0
    assert all((folder / name).stat().st_mode & 0o077 == 0 for name in names), names
    assert place.node_folders() == []
    assert not (place.project / "here.txt").exists()


def test_later_edits_do_not_leak_in(place: Place) -> None:
    place.write("code.py", "import time, helper; time.sleep(1); import late; print(helper.WORD, late.WORD)")
    place.write("helper.py", "WORD = 'frozen'")
    place.write("late.py", "WORD = 'frozen too'")
    run = place.submit("--", "python", "code.py")
    place.write("helper.py", "WORD = 'edited'")
    place.write("late.py", "WORD = 'edited'")
    place.write("code.py", "raise SystemExit(9)")
    assert place.wait(run)["state"] == "done"
    assert "frozen frozen too" in place.log(run)


def test_the_project_may_be_deleted_after_submit(place: Place) -> None:
    place.write("code.py", "print('still here')")
    run = place.submit("--", "python", "code.py")
    shutil.rmtree(place.project)
    place.project.mkdir()
    assert place.wait(run)["state"] == "done"


def test_the_same_code_is_stored_once(place: Place) -> None:
    place.write("code.py", "print('x')")

    def stored() -> list[Path]:
        return list(place.scratch.glob("project/hpc_outputs/.code/*"))

    first, second = place.submit("--", "python", "code.py"), place.submit("--", "python", "code.py", "again")
    assert first != second
    assert len(stored()) == 1
    place.write("code.py", "print('y')")
    place.submit("--", "python", "code.py")
    assert len(stored()) == 2


def test_a_failure_is_shown_with_its_code_and_last_lines(place: Place) -> None:
    place.write("fail.py", "import sys; print('the last words'); sys.exit(7)")
    run = place.submit("--", "python", "fail.py")
    answer = place.voy("wait", run, code=1)
    assert "failed" in answer.stdout and "exit code 7" in answer.stdout and "the last words" in answer.stdout


def test_a_signal_is_shown_in_words(place: Place) -> None:
    place.write("crash.py", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    ended = place.finish("--", "python", "crash.py")
    assert (ended["state"], ended["because"]) == ("failed", "killed by a memory access error (SIGSEGV)")


def test_two_nodes_with_two_tasks_each(place: Place) -> None:
    place.write("rank.py", "import os; print('rank', *(os.environ[n] for n in "
                           "('SLURM_PROCID', 'SLURM_LOCALID', 'SLURM_NODEID', 'SLURM_NTASKS')))")  # fmt: skip
    ended = place.finish("-n", "2", "--tasks", "2", "-c", "2", "--", "python", "rank.py")
    assert ended["state"] == "done"
    lines = sorted(
        line.split(": ", 1)[1].split()[1:5] for line in place.log(ended["run"]).splitlines() if ": rank" in line
    )
    assert lines == [["0", "0", "0", "4"], ["1", "1", "0", "4"], ["2", "0", "1", "4"], ["3", "1", "1", "4"]]
    assert place.node_folders() == []


def test_one_dead_rank_ends_the_run_soon(place: Place) -> None:
    place.write(
        "rank.py", "import os, sys, time; sys.exit(3) if os.environ['SLURM_PROCID'] == '1' else time.sleep(200)"
    )
    started = time.monotonic()
    ended = place.finish("-n", "2", "--launch", "per-rank", "--", "python", "rank.py")
    assert ended["state"] == "failed" and time.monotonic() - started < 60
    failed = [event for event in ended["events"] if event["event"] == "task failed"]
    assert failed[0]["rank"] == 1 and failed[0]["code"] == 3


LISTENER = textwrap.dedent("""
    import signal, sys, time
    def told(number, frame):
        print("told", signal.Signals(number).name, round(time.time() - start), flush=True)
        if number == signal.SIGTERM:
            sys.exit(0)
    signal.signal(signal.SIGUSR1, told)
    signal.signal(signal.SIGTERM, told)
    start = time.time()
    print("ready", flush=True)
    while True:
        time.sleep(0.1)
""")


@pytest.mark.parametrize("shape", [(), ("-n", "2")], ids=["one process", "two nodes"])
def test_cancel_reaches_the_program_behind_a_shell(place: Place, shape: tuple[str, ...]) -> None:
    place.write("listen.py", LISTENER)
    place.write("start.sh", "python listen.py\necho the shell went on\n")
    run = place.submit(*shape, "--", "bash", "start.sh")
    place.until_logged(run, "ready")
    place.voy("cancel", run)
    ended = place.wait(run, code=1)
    assert ended["state"] == "cancelled"
    assert "told SIGTERM" in place.log(run)
    place.until(lambda: place.node_folders() == [], 20)


def test_the_time_limit_warns_and_then_ends_it(place: Place) -> None:
    """On Slurm the smallest limit is a minute and is enforced after 66 to 70 seconds; behind a shell, with cgroups, a
    program hears of neither unless the supervisor tells it."""
    place.write("listen.py", LISTENER)
    place.write("start.sh", "python listen.py\n")
    place.write("voyageur.toml", "[checkpoint]\nwarn = '5s'\n")
    run = place.submit("-t", "60s" if place.bed else "12s", "--", "bash", "start.sh")
    ended = place.wait(run, code=1)
    log = place.log(run)
    assert log.index("told SIGUSR1") < log.index("told SIGTERM"), log
    assert ended["state"] == "timeout"
    assert [event["told"] for event in ended["events"] if event["event"] == "warned"] == [1]
    assert place.node_folders() == []


def test_a_program_that_ends_well_after_the_warning_is_stopped_not_done(local: Place) -> None:
    place = local
    place.write("save.py", "from voyageur import job\nimport time\n"
                           "while not job.should_stop(): time.sleep(0.1)\nprint('saved', job.run)")  # fmt: skip
    place.write("voyageur.toml", "[checkpoint]\nwarn = '8s'\n")
    run = place.submit("-t", "16s", "--", "python", "save.py")
    assert place.wait(run)["state"] == "stopped"
    assert f"saved {run}" in place.log(run)


def test_nothing_outlives_the_run(place: Place) -> None:
    place.write("orphan.sh", "setsid sleep 271 & (setsid sleep 272 &)\nsleep 0.3; echo started\n")
    ended = place.finish("--", "bash", "orphan.sh")
    assert ended["state"] == "done"
    place.until(lambda: not _sleepers("271", "272"), 10)


def _sleepers(*seconds: str) -> list[str]:
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            words = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
        except OSError:
            continue
        if words[0] == "sleep" and words[1] in seconds:
            found.append(pid)
    return found


def test_nothing_of_the_submitting_shell_leaks_in(place: Place) -> None:
    poison = {"SBATCH_TIMELIMIT": "1", "SBATCH_JOB_NAME": "evil", "SLURM_NTASKS": "77", "SLURM_MEM_PER_CPU": "5",
              "SLURM_CPU_BIND": "none", "SRUN_CPUS_PER_TASK": "9", "MY_MODULE": "leaked", "CONDA_DEFAULT_ENV": "leaked",
              "LOADEDMODULES": "leaked"}  # fmt: skip
    place.write("say.py", SAY)
    run = place.submit("--", "python", "say.py", **poison)
    assert place.wait(run)["state"] == "done"
    env = said(place, run)["env"]
    assert isinstance(env, dict)
    assert {name: env[name] for name in poison if env.get(name) == poison[name]} == {}
    assert env["SLURM_JOB_NAME"].startswith(run)


def test_status_is_the_same_without_the_index(place: Place) -> None:
    place.write("ok.py", "print(1)")
    place.write("bad.py", "raise SystemExit(2)")
    for run in [place.submit("--", "python", "ok.py"), place.submit("--", "python", "bad.py")]:
        place.wait(run)

    def shown() -> list[dict[str, object]]:
        return list(json.loads(place.voy("status", "--json").stdout))

    before = shown()
    assert {entry["state"] for entry in before} == {"done", "failed"}
    index = place.home / ".local/state/voyageur/runs.jsonl"
    index.unlink()
    assert shown() == before
    index.write_bytes(index.read_bytes()[:-20] + b"\xff\n{half")
    assert shown() == before


def test_a_secret_reaches_the_program_and_nothing_else(place: Place) -> None:
    place.write("voyageur.toml", "[env]\nsecrets = ['HF_TOKEN']\n")
    place.write("use.py", "import os, hashlib; print(hashlib.sha256(os.environ['HF_TOKEN'].encode()).hexdigest())")
    run = place.submit("--", "python", "use.py", HF_TOKEN="canary-5b1f-secret")
    assert place.wait(run)["state"] == "done"
    holders = [path for path in place.root.rglob("*") if path.is_file() and b"canary-5b1f-secret" in path.read_bytes()]
    assert holders == []
    if place.bed:
        job = place.status(run)["job"]
        for question in (["scontrol", "show", "job", job], ["sacct", "-j", job, "-P", "-o", "ALL"]):
            assert "canary-5b1f-secret" not in place.bed.run(question).stdout


def test_strange_names_of_folders(place: Place) -> None:
    strange = place.root / "my 'odd' #project %j é🙂 $(touch x)"
    strange.mkdir()
    scratch = place.root / 'scratch "with" # %x é'
    place.project = strange
    place.write("ok.py", "import os; print(os.environ['project_name'])")
    run = place.submit("--", "python", "ok.py", SCRATCH=str(scratch))
    place.environment["SCRATCH"] = str(scratch)
    assert place.wait(run)["state"] == "done"
    assert strange.name in place.log(run)
    assert not (place.root / "x").exists()


def test_logs_follow_until_the_end(place: Place) -> None:
    place.write("count.py", "import time\nfor i in range(5): print('line', i, flush=True); time.sleep(0.4)")
    run = place.submit("--", "python", "count.py")
    followed = place.voy("logs", "-f", run)
    assert [line for line in followed.stdout.splitlines() if line.startswith("line")] == [f"line {i}" for i in range(5)]
    assert "done" in followed.stderr
    assert place.voy("logs", "-n", "2", run).stdout.splitlines() == ["line 3", "line 4"]


def test_the_script_runs_again_by_plain_submission(slurm: Place) -> None:
    """A new attempt in the same folder, and the first log is kept."""
    place = slurm
    assert place.bed
    place.write("ok.py", "import os; print('attempt', os.environ['VOY_ATTEMPT'])")
    run = place.submit("--", "python", "ok.py")
    place.wait(run)
    job = place.bed.submit([str(place.folder(run) / "job.sh")], HOME=str(place.home))
    place.bed.wait_job(job)
    log = place.log(run)
    assert "attempt 1" in log and "attempt 2" in log
    assert place.status(run)["state"] == "done" and place.status(run)["job"] == job


@pytest.mark.parametrize("launch", [(), ("-n", "2", "--launch", "per-node")])
def test_what_a_program_writes_beside_its_code_is_not_lost(place: Place, launch: tuple[str, ...]) -> None:
    place.write(
        "save.py",
        "import os, time\n"
        "with open('model.pt', 'w') as file: file.write(os.environ['PWD'] + ' ' + os.getcwd())\n"
        "time.sleep(2)  # so that all ranks have written when the first of them ends the others\n"
        "raise SystemExit(3)\n",
    )
    ended = place.finish(*launch, "--", "python", "save.py")
    assert ended["state"] == "failed"
    archives = sorted(place.folder(ended["run"]).glob("written-1-*.tar"))
    assert len(archives) == (2 if launch else 1)
    for archive in archives:
        with tarfile.open(archive) as tar:
            member = tar.extractfile("model.pt")
            assert member
            shown, real = member.read().decode().split()
            assert shown == real
        assert archive.name in place.log(ended["run"])
        assert archive.name in place.voy("status", ended["run"]).stdout


def test_what_all_nodes_used_is_in_the_record(place: Place) -> None:
    place.write("busy.py", "import time\nkept = bytearray(60_000_000)\nwhile time.process_time() < 2: pass")
    ended = place.finish("-n", "2", "--launch", "per-node", "--", "python", "busy.py")
    used = json.loads((place.folder(ended["run"]) / "done.json").read_text())["usage"]
    assert used["cpu_seconds"] > 2
    assert 60_000_000 < used["peak_memory"] < 500_000_000
