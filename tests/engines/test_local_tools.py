"""`srun` and `scontrol` of the local engine, as a job's script calls them. What real ones do was seen on 22.05."""

from __future__ import annotations

import errno
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from voyageur.engines.local.toolbox import put_tools
from voyageur.engines.local.tools.names import addresses

Tool = Callable[..., subprocess.CompletedProcess[str]]
WHO = "echo r$SLURM_PROCID l$SLURM_LOCALID n$SLURM_NODEID $SLURMD_NODENAME"


def surroundings(folder: Path, nodes: int = 2, tasks: int = 4) -> dict[str, str]:
    return {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "SLURM_JOB_ID": "7",
        "SLURM_JOB_NUM_NODES": str(nodes),
        "SLURM_JOB_NODELIST": addresses(nodes),
        "SLURM_NTASKS": str(tasks),
        "SLURM_CPUS_PER_TASK": "4",
    }


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    return put_tools(tmp_path)


@pytest.fixture
def srun(tools: Path, tmp_path: Path) -> Tool:
    def run(
        *arguments: str, nodes: int = 2, tasks: int = 4, stdin: str = "", **more: str
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["srun", *arguments], env=surroundings(tools, nodes, tasks) | more, cwd=tmp_path, input=stdin,
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    return run


@pytest.fixture
def hostnames(tools: Path) -> Tool:
    def run(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(tools / "scontrol"), "show", "hostnames", *arguments], env={"PATH": os.environ["PATH"], **variables},
            capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip

    return run


# ── where tasks run ──────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "nodes", "expected"),
    [
        (["-n3"], 2, ["r0 l0 n0 local1", "r1 l1 n0 local1", "r2 l0 n1 local2"]),
        (["-n3", "--ntasks-per-node=1"], 2, ["r0 l0 n0 local1", "r1 l1 n0 local1", "r2 l0 n1 local2"]),
        (["-n3", "-m", "cyclic"], 2, ["r0 l0 n0 local1", "r1 l0 n1 local2", "r2 l1 n0 local1"]),
        (["-n4", "-N3"], 3, ["r0 l0 n0 local1", "r1 l1 n0 local1", "r2 l0 n1 local2", "r3 l0 n2 local3"]),
        (["-n1"], 2, ["r0 l0 n0 local1"]),
        (["-n1", "-N1", "-w", "local2"], 2, ["r0 l0 n0 local2"]),
        (["-n2", "-w127.0.0.[2-3]"], 3, ["r0 l0 n0 local2", "r1 l0 n1 local3"]),
        (["--nodes=1-9", "--ntasks", "2", "--dist", "block"], 2, ["r0 l0 n0 local1", "r1 l0 n1 local2"]),
    ],
)
def test_tasks_are_shared_out_as_slurm_does(srun: Tool, arguments: list[str], nodes: int, expected: list[str]) -> None:
    answer = srun(*arguments, "bash", "-c", WHO, nodes=nodes)
    assert answer.returncode == 0, answer.stderr
    assert sorted(answer.stdout.splitlines()) == expected


def test_a_step_knows_its_own_nodes_and_tasks(srun: Tool) -> None:
    names = ("NTASKS", "NNODES", "TASKS_PER_NODE", "STEP_NODELIST", "JOB_NODELIST", "CPUS_PER_TASK")
    answer = srun("-n5", "-N3", "bash", "-c", "echo " + " ".join(f"$SLURM_{name}" for name in names), nodes=4)
    assert set(answer.stdout.splitlines()) == {f"5 3 2(x2),1 {addresses(3)} {addresses(4)} 4"}


def test_what_srun_does_otherwise_than_typed_is_said(srun: Tool) -> None:
    answer = srun("-n3", "--ntasks-per-node=1", "true")
    assert answer.stderr == "srun: warning: 3 tasks on 2 nodes: --ntasks-per-node=1 is ignored\n"
    assert srun("-N2", "-n1", "true").stderr == "srun: warning: 1 tasks need no more than 1 nodes\n"


# ── what cannot be ───────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("arguments", "code", "line"),
    [
        (["nosuchprog"], 2, "nosuchprog: No such file or directory"),
        (["/etc/passwd"], 13, "/etc/passwd: Permission denied"),
        (["-N5", "true"], 1, "5 nodes asked for, but this job has 2"),
        (["-w", "elsewhere", "true"], 1, "node elsewhere is not one of this job's: local1,local2"),
        (["-w", "local[", "true"], 1, "invalid node list: brackets do not match in `local[`"),
        (["--bogus", "true"], 1, "this machine without Slurm knows no option `--bogus`"),
        (["--het-group=0", "true"], 1, "this machine without Slurm knows no option `--het-group`"),
        (["-lZ", "true"], 1, "this machine without Slurm knows no option `-Z`"),
        (["--label=1", "true"], 1, "option `--label` takes no argument"),
        (["-n"], 1, "option `-n` needs an argument"),
        (["-nx", "true"], 1, 'invalid numeric value "x" for --ntasks'),
        (["-N", "x", "true"], 1, 'invalid numeric value "x" for --nodes'),
        (["-n0", "true"], 1, 'invalid numeric value "0" for --ntasks'),
        (["-D", "/nosuch", "true"], 1, "--chdir: there is no folder /nosuch"),
        (["-o", "/nosuch/out", "true"], 1, "cannot write /nosuch/out: No such file or directory"),
        (["-i", "/nosuch/in", "true"], 1, "cannot read /nosuch/in: No such file or directory"),
        ([], 1, "no command given to execute"),
    ],
)
def test_a_mistake_is_one_line(srun: Tool, arguments: list[str], code: int, line: str) -> None:
    answer = srun(*arguments)
    assert (answer.returncode, answer.stderr, answer.stdout) == (code, f"srun: error: {line}\n", "")


def test_a_task_that_cannot_start_takes_the_others_along(tools: Path) -> None:
    script = "ulimit -n 20; exec srun -n20 sleep 281"
    answer = subprocess.run(["bash", "-c", script], env=surroundings(tools), capture_output=True, text=True, timeout=60)
    assert (answer.returncode, answer.stderr) == (errno.EMFILE, "srun: error: sleep: Too many open files\n")


# ── options ──────────────────────────────────────────────────────────────────────────────────────────────────────────

TAKEN = (
    "--mpi=pmix --exclusive --exclusive=user --mem=4G --mem-per-cpu 1G --mem-per-gpu=1G --mem-bind=local -u "
    "--unbuffered --gpus=1 -G1 --gpus-per-task 1 --gpus-per-node=2 --gpu-bind=closest --gres=gpu:1 --cpu-bind=cores "
    "--distribution=block:cyclic -m block --kill-on-bad-exit --kill-on-bad-exit=0 --kill-on-bad-exit=1 -K -K1 -W0 "
    "--wait=60 -J name --job-name=x -t 10 --time=1:00 --ntasks-per-gpu=1 --ntasks-per-core 1 --ntasks-per-socket=1 "
    "--overlap --exact -c 2 --cpus-per-task=2 --export=ALL -l --label --hint=nomultithread --threads-per-core=1 -v -vv"
)


def test_common_options_are_taken(srun: Tool) -> None:
    answer = srun(*TAKEN.split(), "-n1", "--", "echo", "-n", "ran")
    assert (answer.returncode, answer.stdout, answer.stderr) == (0, "0: ran\n", "")


@pytest.mark.parametrize("option", ["-V", "--version"])
def test_its_version_can_be_asked(srun: Tool, option: str) -> None:
    answer = srun(option)
    assert (answer.returncode, answer.stderr) == (0, "") and re.fullmatch(r"slurm [\d.]+\n", answer.stdout)


def test_two_dashes_end_the_options(srun: Tool) -> None:
    assert srun("-n1", "--", "echo", "--", "hi").stdout == "-- hi\n"
    assert srun("-n1", "echo", "--bogus").stdout == "--bogus\n"


def test_a_name_and_a_folder_for_the_step(srun: Tool) -> None:
    assert srun("-n1", "-D", "/usr", "-J", "step", "bash", "-c", "pwd; echo $SLURM_JOB_NAME").stdout == "/usr\nstep\n"


def test_what_is_exported(srun: Tool) -> None:
    show = ["/bin/bash", "-c", "echo $A $B $SLURM_PROCID"]
    assert srun("-n1", *show, A="a").stdout == "a 0\n"
    assert srun("-n1", "--export=ALL,B=b", *show, A="a").stdout == "a b 0\n"
    assert srun("-n1", "--export=B=b", *show, A="a").stdout == "b 0\n"
    assert srun("-n1", "--export=NONE", *show, A="a").stdout == "0\n"


# ── output and input ─────────────────────────────────────────────────────────────────────────────────────────────────

BOTH = ["bash", "-c", "echo out; echo err >&2"]


def test_errors_stay_apart(srun: Tool) -> None:
    answer = srun("-n2", *BOTH)
    assert (answer.stdout, answer.stderr) == ("out\n" * 2, "err\n" * 2)


def test_labels_are_on_both(srun: Tool) -> None:
    answer = srun("-l", "-n2", *BOTH)
    assert sorted(answer.stdout.splitlines()) == ["0: out", "1: out"]
    assert sorted(answer.stderr.splitlines()) == ["0: err", "1: err"]


def test_lines_of_different_tasks_do_not_mix(srun: Tool) -> None:
    write = "import sys, time\nfor _ in range(50): [print('x' * 50, end='', flush=True) for _ in range(4)]; print()"
    answer = srun("-n4", sys.executable, "-c", write)
    assert set(answer.stdout.splitlines()) == {"x" * 200}


def test_a_single_task_writes_as_it_is(tools: Path) -> None:
    """Bytes that are no text, and no line end at the end."""
    raw = bytes(range(256)) * 1000
    answer = subprocess.run(["srun", "-n1", "cat"], env=surroundings(tools), input=raw, capture_output=True, timeout=60)
    assert answer.stdout == raw


def test_whoever_stops_reading_does_not_break_the_step(tools: Path) -> None:
    script = "srun -n2 bash -c 'seq 100000; exit 3' | head -1; echo ${PIPESTATUS[0]}"
    answer = subprocess.run(["bash", "-c", script], env=surroundings(tools), capture_output=True, text=True, timeout=60)
    assert (answer.stdout, answer.stderr) == ("1\n3\n", "")


def test_what_a_task_left_running_does_not_hold_the_step(srun: Tool) -> None:
    begin = time.monotonic()
    answer = srun("-n2", "bash", "-c", "sleep 30 & echo $!")
    for pid in answer.stdout.split():
        os.kill(int(pid), signal.SIGKILL)
    assert time.monotonic() - begin < 20


def test_output_to_files(srun: Tool, tmp_path: Path) -> None:
    srun("-n2", "-o", "o-%j-%s-%3t-%N-%n-%J-%%", *BOTH)
    for rank in (0, 1):
        name = f"o-7-0-00{rank}-local{rank + 1}-{rank}-7.0-%"
        assert sorted((tmp_path / name).read_text().split()) == ["err", "out"]


def test_output_and_errors_to_two_files_that_all_tasks_share(srun: Tool, tmp_path: Path) -> None:
    for _ in range(2):
        answer = srun("-n2", "-o", "out", "-e", "err", *BOTH)
    assert (answer.stdout, answer.stderr) == ("", "")
    assert ((tmp_path / "out").read_text(), (tmp_path / "err").read_text()) == ("out\n" * 2, "err\n" * 2)
    srun("-n1", "-o", "out", "--open-mode=append", "echo", "more")
    assert (tmp_path / "out").read_text() == "out\nout\nmore\n"


def test_output_of_one_task_or_none(srun: Tool) -> None:
    assert srun("-n2", "-l", "-o", "1", "echo", "only").stdout == "1: only\n"
    assert srun("-n2", "-o", "none", "echo", "hidden").stdout == ""


def test_who_reads_the_input(srun: Tool, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("from a file\n")
    assert srun("-n1", "cat", stdin="hello\n").stdout == "hello\n"
    assert srun("-n2", "cat", stdin="hello\n").stdout == ""
    assert srun("-n2", "-l", "-i1", "cat", stdin="hello\n").stdout == "1: hello\n"
    assert srun("-n2", "-i", "file", "cat").stdout == "from a file\n" * 2
    assert srun("-n1", "--input=none", "cat", stdin="hello\n").stdout == ""


# ── the end ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_highest_exit_code_counts(srun: Tool) -> None:
    assert srun("-n4", "bash", "-c", "exit $SLURM_PROCID").returncode == 3
    assert srun("-n2", "bash", "-c", "[ $SLURM_PROCID = 0 ] && exit 3; kill -9 $$").returncode == 137


@pytest.mark.parametrize("flags", [["-K"], ["--kill-on-bad-exit=1"], ["-K1"]], ids=" ".join)
def test_one_failure_ends_the_step_where_asked(srun: Tool, flags: list[str]) -> None:
    begin = time.monotonic()
    assert srun("-n2", *flags, "bash", "-c", "[ $SLURM_PROCID = 0 ] && exit 3; exec sleep 30").returncode == 143
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("flags", [[], ["-K0"], ["--kill-on-bad-exit=0"]], ids=" ".join)
def test_else_the_others_go_on(srun: Tool, flags: list[str]) -> None:
    answer = srun("-n2", *flags, "bash", "-c", "[ $SLURM_PROCID = 0 ] && exit 3; sleep 1; echo survived")
    assert (answer.returncode, answer.stdout) == (3, "survived\n")


def test_the_others_are_waited_for_no_longer_than_asked(srun: Tool) -> None:
    begin = time.monotonic()
    assert srun("-n2", "-W1", "bash", "-c", "[ $SLURM_PROCID = 0 ] || exec sleep 30").returncode == 143
    assert time.monotonic() - begin < 20


def test_signals_are_handed_on_and_a_request_to_end_is_force(tools: Path) -> None:
    script = "trap 'echo warned' USR1; echo begun; for _ in $(seq 300); do sleep 0.1; done"
    process = subprocess.Popen(
        ["srun", "-n2", "bash", "-c", script], env=surroundings(tools), text=True, stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    assert process.stdout
    assert [process.stdout.readline() for _ in range(2)] == ["begun\n"] * 2
    process.send_signal(signal.SIGUSR1)
    assert [process.stdout.readline() for _ in range(2)] == ["warned\n"] * 2
    process.terminate()
    assert process.communicate(timeout=20)[1] == "srun: forcing job termination\n"
    assert process.returncode == 137


# ── the tools themselves ─────────────────────────────────────────────────────────────────────────────────────────────


def test_what_a_job_has_on_its_python_path_is_not_ours(srun: Tool, tmp_path: Path) -> None:
    (tmp_path / "selectors.py").write_text("raise SystemExit('the wrong one')")
    assert srun("-n1", "echo", "hi", PYTHONPATH=str(tmp_path)).stdout == "hi\n"


def test_many_keepers_may_put_the_tools_there_at_once(tmp_path: Path) -> None:
    program = "import sys; from pathlib import Path\n"
    program += "from voyageur.engines.local.toolbox import put_tools; print(put_tools(Path(sys.argv[1])))"
    with ThreadPoolExecutor(4) as pool:
        answers = pool.map(
            lambda _: subprocess.check_output([sys.executable, "-c", program, str(tmp_path)], text=True), range(4)
        )
    (folder,) = {answer.strip() for answer in answers}
    assert sorted(path.name for path in Path(folder).iterdir()) == ["scontrol", "srun"]


def test_another_python_gets_tools_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = put_tools(tmp_path)
    monkeypatch.setattr(sys, "executable", "/a venv/that $moved/python")
    second = put_tools(tmp_path)
    assert first != second
    assert "'/a venv/that $moved/python'" in (second / "srun").read_text()


def test_a_damaged_tool_is_mended(tools: Path, tmp_path: Path) -> None:
    (tools / "srun").write_text("")
    put_tools(tmp_path)
    assert (tools / "srun").stat().st_mode & 0o777 == 0o700
    assert "tools.srun" in (tools / "srun").read_text()


# ── names ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("n[1-3,5],m07", "n1 n2 n3 n5 m07"),
        ("n[008-11]x[1-2]", "n008x1 n008x2 n009x1 n009x2 n010x1 n010x2 n011x1 n011x2"),
        ("a,b,a", "a b a"),
        ("c[01-02]-ib.site", "c01-ib.site c02-ib.site"),
        ("127.0.0.1,127.0.0.2", "127.0.0.1 127.0.0.2"),
        ("", ""),
    ],
)
def test_host_lists_are_expanded(hostnames: Tool, listed: str, expected: str) -> None:
    assert hostnames(listed).stdout == "".join(f"{name}\n" for name in expected.split())


def test_without_a_list_it_is_the_jobs_own(hostnames: Tool) -> None:
    assert hostnames(SLURM_JOB_NODELIST=addresses(2)).stdout == "127.0.0.1\n127.0.0.2\n"


@pytest.mark.parametrize("listed", ["n[1-", "n]1", "n[a-b]", "n[]", "n[1-2,]"])
def test_a_list_that_makes_no_sense_is_one_line(hostnames: Tool, listed: str) -> None:
    answer = hostnames(listed)
    assert answer.returncode == 1
    assert re.fullmatch(r"scontrol: error: invalid host list: .*\n", answer.stderr)
