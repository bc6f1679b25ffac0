"""`srun` for our own scripts on a machine without Slurm: every node is a few processes here. A program by itself."""

from __future__ import annotations

import argparse
import os
import select
import signal
import subprocess
import sys
import time

# What Slurm's srun hands on to its tasks as it is; a SIGTERM ends them all by force, as there.
HANDED_ON = (signal.SIGUSR1, signal.SIGUSR2, signal.SIGHUP, signal.SIGALRM)


def main(arguments: list[str]) -> int:
    options, command = _parse(arguments)
    nodes = os.environ["SLURM_JOB_NODELIST"].split(",")[: options.nodes]
    per_node = options.ntasks_per_node or -(-options.ntasks // len(nodes))
    tasks = [_start(options, command, rank, nodes, per_node) for rank in range(options.ntasks)]
    _hand_signals_on(tasks)
    _copy_output(tasks, options)
    return _wait(tasks, options)


def _parse(arguments: list[str]) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(prog="srun", description="runs tasks on this machine as if on several nodes")
    parser.add_argument("-N", "--nodes", type=int, default=int(os.environ.get("SLURM_JOB_NUM_NODES", "1")))
    parser.add_argument("-n", "--ntasks", type=int, default=int(os.environ.get("SLURM_NTASKS", "1")))
    parser.add_argument("--ntasks-per-node", type=int, default=0)
    parser.add_argument("-c", "--cpus-per-task", type=int, default=1)
    parser.add_argument("-K", "--kill-on-bad-exit", type=int, nargs="?", const=1, default=0)
    parser.add_argument("-l", "--label", action="store_true")
    parser.add_argument("--overlap", action="store_true")
    parser.add_argument("--export", default="ALL")
    parser.add_argument("command", nargs=argparse.REMAINDER)
    options = parser.parse_args(arguments)
    if not options.command:
        parser.error("no command")
    return options, options.command


def _start(
    options: argparse.Namespace, command: list[str], rank: int, nodes: list[str], per_node: int
) -> subprocess.Popen[bytes]:
    node = rank // per_node
    environment = os.environ | {
        "SLURM_PROCID": str(rank),
        "SLURM_LOCALID": str(rank % per_node),
        "SLURM_NODEID": str(node),
        "SLURM_NTASKS": str(options.ntasks),
        "SLURM_NPROCS": str(options.ntasks),
        "SLURM_STEP_NUM_TASKS": str(options.ntasks),
        "SLURM_STEP_ID": "0",
        "SLURM_NNODES": str(len(nodes)),
        "SLURM_CPUS_PER_TASK": str(options.cpus_per_task),
        "SLURMD_NODENAME": nodes[node],
    }
    return subprocess.Popen(
        command, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def _hand_signals_on(tasks: list[subprocess.Popen[bytes]]) -> None:
    def hand_on(signum: int, _: object) -> None:
        for task in tasks:
            if task.poll() is None:
                task.send_signal(signum)

    def force(_: int, __: object) -> None:
        print("srun: forcing job termination", file=sys.stderr, flush=True)
        for task in tasks:
            task.kill()

    for signum in HANDED_ON:
        signal.signal(signum, hand_on)
    signal.signal(signal.SIGTERM, force)
    signal.signal(signal.SIGINT, force)


def _copy_output(tasks: list[subprocess.Popen[bytes]], options: argparse.Namespace) -> None:
    """Line by line, so that lines of different tasks do not mix."""
    pending = {task.stdout.fileno(): (rank, b"") for rank, task in enumerate(tasks) if task.stdout}
    while pending:
        for descriptor in select.select(list(pending), [], [], 1.0)[0]:
            rank, rest = pending[descriptor]
            block = os.read(descriptor, 65_536)
            *lines, rest = (rest + block).split(b"\n")
            if not block:
                lines, rest = ([rest] if rest else []), b""
                del pending[descriptor]
            else:
                pending[descriptor] = rank, rest
            _print(lines, b"%d: " % rank if options.label else b"")
        _mind_failures(tasks, options)


def _print(lines: list[bytes], prefix: bytes) -> None:
    if lines:
        sys.stdout.buffer.write(b"".join(prefix + line + b"\n" for line in lines))
        sys.stdout.buffer.flush()


def _mind_failures(tasks: list[subprocess.Popen[bytes]], options: argparse.Namespace) -> None:
    """One dead task ends the step, where that was asked for."""
    if options.kill_on_bad_exit and any(task.poll() not in (None, 0) for task in tasks):
        for task in tasks:
            if task.poll() is None:
                task.terminate()


def _wait(tasks: list[subprocess.Popen[bytes]], options: argparse.Namespace) -> int:
    while any(task.poll() is None for task in tasks):
        _mind_failures(tasks, options)
        time.sleep(0.02)
    return max(128 - task.returncode if task.returncode < 0 else task.returncode for task in tasks)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
