"""srun's command line. Options that mean nothing on one machine are taken and change nothing; others are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from .layout import Refused

# A `?` is an argument that only counts when it is attached (-K0, --exclusive=user), as getopt has it.
_ACTED_ON = """
    N= nodes=   n= ntasks=   ntasks-per-node=   c= cpus-per-task=   w= nodelist=   m= distribution=
    D= chdir=   J= job-name=   export=   i= input=   o= output=   e= error=   open-mode=   l label   u unbuffered
    K? kill-on-bad-exit?   W= wait=
"""
_TAKEN = """
    overlap   exact   exclusive?   O overcommit   s oversubscribe   k no-kill   Q quiet   v verbose   X disable-status
    E preserve-env   whole   mpi=   mem=   mem-per-cpu=   mem-per-gpu=   mem-bind=   cpu-bind=   cpu-freq=   hint=
    G= gpus=   gpus-per-node=   gpus-per-task=   gpus-per-socket=   gpu-bind=   gpu-freq=   gres=   gres-flags=
    tres-per-task=   ntasks-per-gpu=   ntasks-per-core=   ntasks-per-socket=   threads-per-core=   cores-per-socket=
    sockets-per-node=   B= extra-node-info=   t= time=   time-min=   A= account=   p= partition=   q= qos=   jobid=
    C= constraint=   S= core-spec=   nice?   propagate?   signal=   comment=   network=   profile=   acctg-freq=
    accel-bind=   resv-ports?   slurmd-debug=
"""


def _table(text: str) -> dict[str, tuple[str, str]]:
    """A short name, where there is one, stands before its long name: each tells the long one and its argument."""
    table: dict[str, tuple[str, str]] = {}
    short = ""
    for word in text.split():
        name, argument = (word[:-1], word[-1]) if word[-1] in "=?" else (word, "")
        if len(name) == 1:
            short = name
            continue
        table[name] = name, argument
        if short:
            table[short], short = (name, argument), ""
    return table


_KNOWN = _table(_ACTED_ON + _TAKEN)


@dataclass(frozen=True, kw_only=True)
class Options:
    command: list[str]
    tasks: int
    nodes: str
    nodes_asked: bool
    tasks_per_node: int
    cpus_per_task: str
    node_list: str
    is_cyclic: bool
    folder: str
    job_name: str
    export: str
    input: str
    output: str
    error: str
    appends: bool
    labels: bool
    unbuffered: bool
    ends_with_first_failure: bool
    wait: int


def read_options(arguments: list[str], environment: Mapping[str, str]) -> Options:
    given, command = _split(arguments)
    if not command:
        raise Refused("no command given to execute")
    return Options(
        command=command,
        tasks=_number({"ntasks": environment.get("SLURM_NTASKS", "1"), **given}, "ntasks", 1),
        nodes=given.get("nodes") or environment.get("SLURM_JOB_NUM_NODES", "1"),
        nodes_asked="nodes" in given,
        tasks_per_node=_number(given, "ntasks-per-node", 0),
        cpus_per_task=given.get("cpus-per-task", ""),
        node_list=given.get("nodelist", ""),
        is_cyclic=given.get("distribution", "").startswith("cyclic"),
        folder=given.get("chdir", ""),
        job_name=given.get("job-name", ""),
        export=given.get("export", "ALL"),
        input=given.get("input", ""),
        output=given.get("output", "all"),
        error=given.get("error") or given.get("output", "all"),
        appends=given.get("open-mode", "").startswith("a"),
        labels="label" in given,
        unbuffered="unbuffered" in given,
        ends_with_first_failure="kill-on-bad-exit" in given and given["kill-on-bad-exit"] != "0",
        wait=_number(given, "wait", 0, least=0),
    )


def _number(given: Mapping[str, str], name: str, otherwise: int, least: int = 1) -> int:
    text = given.get(name)
    if text is None:
        return otherwise
    if not text.isdecimal() or int(text) < least:
        raise Refused(f'invalid numeric value "{text}" for --{name}')
    return int(text)


def _split(arguments: list[str]) -> tuple[dict[str, str], list[str]]:
    """The options by their long names, and the command: what begins with the first word that is no option."""
    words = list(arguments)
    given: dict[str, str] = {}
    while words and words[0].startswith("-") and words[0] != "-":
        word = words.pop(0)
        if word == "--":
            break
        for name, argument, attached in _options_in(word):
            if argument == "=" and attached is None and not words:
                raise Refused(f"option `{word}` needs an argument")
            given[name] = words.pop(0) if argument == "=" and attached is None else attached or ""
    return given, words


def _options_in(word: str) -> Iterator[tuple[str, str, str | None]]:
    """One long option, or several short ones in a cluster: name, argument wanted, argument attached."""
    if word.startswith("--"):
        text, equals, value = word[2:].partition("=")
        name, argument = _long(text)
        if equals and not argument:
            raise Refused(f"option `--{name}` takes no argument")
        yield name, argument, value if equals else None
        return
    letters = word[1:]
    while letters:
        name, argument = _known(f"-{letters[0]}", letters[0])
        letters = letters[1:]
        if argument and letters:
            yield name, argument, letters
            return
        yield name, argument, None


def _long(text: str) -> tuple[str, str]:
    """Its beginning is enough, if no other option begins so."""
    begun = [name for name in _KNOWN if len(name) > 1 and name.startswith(text)]
    return _known(f"--{text}", begun[0] if len(begun) == 1 else text)


def _known(written: str, name: str) -> tuple[str, str]:
    if name not in _KNOWN:
        raise Refused(f"this machine without Slurm knows no option `{written}`")
    return _KNOWN[name]
