"""Plan -> bash that anyone can read. The blocks are real shell files, so shellcheck and a reader can open them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator
from importlib import resources

from voyageur import __version__
from voyageur.containers.edf import FILE as CONTAINER_FILE
from voyageur.launch import RANK
from voyageur.plan import Container, Export, Plan
from voyageur.plan.launch import TASK
from voyageur.script.quoting import bash_word, comment, sbatch_word
from voyageur.units import counted

_REASON_COLUMN = 44


def render(plan: Plan) -> str:
    lines = [
        *_opening(plan),
        *_directives(plan),
        "",
        *_step(
            1,
            "Who and where",
            [*_block("login_shell"), *_block("fresh_start"), *_exports(plan.exports), *_folders(plan)],
        ),
        *_step(2, "The program's surroundings", _surroundings(plan)),
        *_step(3, "A Python for the supervisor (the program may use another)", _block("find_python")),
        *_step(4, "The program, as it was given", _command(plan)),
        *_step(
            5,
            "Run it: claims this attempt, unpacks the code on the node's own disk, passes warnings on, "
            "writes how it ended, cleans up",
            _launch(plan),
        ),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def _opening(plan: Plan) -> list[str]:
    return [
        "#!/bin/bash",
        f"# {plan.identity.run}: written by Voyageur {__version__} for {plan.site}, from {comment(plan.project_root)}",
        f"#   {comment(shlex.join(plan.command))}",
        "# Run it again: sbatch job.sh. Every decision with its reason: plan.json, beside this file.",
        "",
    ]


def _directives(plan: Plan) -> list[str]:
    return [_with_reason(f"#SBATCH {_flag(line.flag)}", line.because) for line in plan.directives]


def _flag(flag: str) -> str:
    name, equals, value = flag.partition("=")
    return f"{name}{equals}{sbatch_word(value)}" if equals else name


def _with_reason(text: str, reason: str) -> str:
    return f"{text:<{_REASON_COLUMN}}  # {comment(reason)}" if reason else text


def _step(number: int, title: str, lines: Iterable[str]) -> list[str]:
    body = list(lines)
    return [f"# ── {number}. {title}", *body, ""]


def _block(name: str) -> list[str]:
    return (resources.files("voyageur.script") / "blocks" / f"{name}.sh").read_text().rstrip("\n").splitlines()


def _exports(exports: Iterable[Export]) -> Iterator[str]:
    for export in exports:
        value = export.value if export.is_shell else bash_word(export.value)
        yield _with_reason(f"export {export.name}={value}", export.because)


def _folders(plan: Plan) -> list[str]:
    return ['mkdir -p "$VOY_CHECKPOINTS"']


def _surroundings(plan: Plan) -> Iterator[str]:
    if plan.modules.value:
        words = " ".join(bash_word(name) for name in plan.modules.value)
        yield _with_reason(f"modules=({words})", plan.modules.because)
        yield from (line for line in _block("load_modules") if plan.purge.value or line != "module purge")
    if plan.activate.value:
        yield "# shellcheck disable=SC1091 # the user's own file"
        yield _with_reason(f"source {bash_word(plan.activate.value)} || exit 1", plan.activate.because)
    if built := plan.environment.value:
        packages = counted(len(built.packages), "package")
        yield f"# Python {built.python} with {packages}: {comment(plan.environment.because)}"
    elif plan.container:
        yield from _container(plan.container)
    elif not plan.modules.value and not plan.activate.value:
        yield f"# no modules and no virtual environment: {comment(plan.activate.because)}"


def _container(container: Container) -> Iterator[str]:
    yield f"# the program runs in {comment(container.image.value)}, by {container.runtime.value}"
    if container.digest:
        yield f"#   {comment(container.digest)}"
    if container.document:
        yield f"cat >\"$VOY_RUN_DIR/{CONTAINER_FILE}\" <<'END'"
        yield from container.document.rstrip("\n").split("\n")
        yield "END"


def _command(plan: Plan) -> list[str]:
    return ["command=(" + " ".join(bash_word(word) for word in plan.command) + ")"]


def _own_word(word: str) -> str:
    return f'"{word}"' if word.startswith("$") else word


def _launch(plan: Plan) -> Iterator[str]:
    words = [_own_word(word) if word in TASK else bash_word(word) for word in plan.launch_words]
    yield f"# {plan.launch.value}: {comment(plan.launch.because)}"
    launcher, taken = plan.launcher.words, plan.launcher.taken
    if launcher:
        yield "launcher=(" + " ".join(_own_word(word) if word in RANK else bash_word(word) for word in launcher) + ")"
        words.append('"${launcher[@]}"')
    words.append(f'"${{command[@]:{taken}}}"' if taken else '"${command[@]}"')
    program = " ".join(words)
    word = "supervise-tasks" if plan.launch_words else "supervise"
    yield f'exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" {word} -- {program}'
