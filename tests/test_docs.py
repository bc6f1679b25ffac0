"""The documentation says what the code does: every key, verb, option, state and event is there, and none is made up."""

from __future__ import annotations

import ast
import itertools
import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import click
import msgspec
import pytest

from tests.test_layers import SOURCE, STAIRS
from voyageur.commands.verbs import VERBS, voy
from voyageur.record import Entry, Record, State
from voyageur.record.verdict import NO_MARKER, NOT_FOUND
from voyageur.runtime import folder as names
from voyageur.site import Gpu, Partition, Site
from voyageur.site.facts import Facts
from voyageur.site.profile import from_toml
from voyageur.spec import PROJECT_FILE, Given, read_spec
from voyageur.spec.keys import KEYS, VARIABLES

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = sorted([*DOCS.rglob("*.md"), *(ROOT / "examples").rglob("*.md"), *ROOT.glob("*.md")])
VOY = [sys.executable, "-c", "from voyageur.cli import main; main()"]
WISHING = {"check", "plan", "run", "submit"}  # the verbs that share the flags that say what is wanted


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def section(text: str, title: str) -> str:
    """From a heading to the next one of the same depth."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"there is no section `{title}`"
    return found[1]


def first_cells(text: str) -> list[str]:
    """What the first column of the tables names, in backticks."""
    return [
        word for row in re.findall(r"^\| (`[^|]*) \|", text, re.MULTILINE) for word in re.findall(r"`([^`]+)`", row)
    ]


def short(path: Path) -> str:
    return str(path.relative_to(ROOT))


class Block(NamedTuple):
    page: Path
    line: int
    language: str
    text: str


def blocks(*languages: str) -> list[Block]:
    return [block for file in PAGES for block in _blocks(file) if block.language in languages]


def _blocks(file: Path) -> Iterator[Block]:
    text = file.read_text(encoding="utf-8")
    for fence in re.finditer(r"^```(\w*)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        yield Block(file, text.count("\n", 0, fence.start()) + 1, fence[1], fence[2])


def named(block: Block) -> str:
    return f"{short(block.page)}:{block.line}"


# ── keys ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("key", KEYS)
def test_every_key_is_explained(key: str) -> None:
    assert key in first_cells(page("spec.md"))


@pytest.mark.parametrize("variable", VARIABLES)
def test_every_variable_is_listed_with_its_key(variable: str) -> None:
    assert f"| `{variable}` | `{VARIABLES[variable]}` |" in page("spec.md")


@pytest.mark.parametrize("file", PAGES, ids=short)
def test_no_page_names_a_key_that_is_not_there(file: Path) -> None:
    tables = "|".join(sorted({key.split(".")[0] for key in KEYS if "." in key}))
    for key in re.findall(rf"`((?:{tables})\.[a-z_]+)`", file.read_text(encoding="utf-8")):
        assert key in KEYS


# ── verbs and options ────────────────────────────────────────────────────────────────────────────────────────────────


def options_of(verb: str) -> set[str]:
    command = voy.get_command(click.Context(voy), verb)
    assert command is not None
    with_help = [*command.params, click.Option(["-h", "--help"])]
    own = {name for option in with_help if isinstance(option, click.Option) for name in option.opts}
    return own.union(*(options_in(sub) for sub in subverbs_of(verb)))


def options_in(command: click.Command) -> set[str]:
    return {name for option in command.params if isinstance(option, click.Option) for name in option.opts}


def subverbs_of(verb: str) -> list[click.Command]:
    command, context = voy.get_command(click.Context(voy), verb), click.Context(voy)
    if not isinstance(command, click.Group):
        return []
    return [sub for name in command.list_commands(context) if (sub := command.get_command(context, name))]


@pytest.mark.parametrize("verb", VERBS)
def test_every_subverb_is_explained(verb: str) -> None:
    told = section(page("commands.md"), f"voy {verb}")
    assert all(f"`voy {verb} {sub.name}" in told for sub in subverbs_of(verb))


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_explained_with_its_long_options(verb: str) -> None:
    commands = page("commands.md")
    told = section(commands, f"voy {verb}")
    if verb in WISHING:
        told += section(commands, "Flags that say what is wanted")
    for option in sorted(options_of(verb) - {"--help"}):
        if option.startswith("--"):
            assert re.search(rf"(?<![\w-]){option}(?![\w-])", told), option


def typed() -> list[tuple[str, list[str]]]:
    """Every `$ voy ...` in the examples: where it stands, and its words up to the program's own."""
    found = []
    for block in blocks("console"):
        for line in re.findall(r"^\$ voy (.*)$", block.text, re.MULTILINE):
            words = itertools.takewhile(lambda word: word not in ("--", "|", ">>"), shlex.split(line, comments=True))
            found.append((named(block), list(words)))
    return found


@pytest.mark.parametrize(("where", "words"), typed(), ids=lambda value: value if isinstance(value, str) else "")
def test_examples_use_verbs_and_options_that_are_there(where: str, words: list[str]) -> None:
    verb, *rest = words
    if verb.startswith("-"):
        assert verb in ("--help", "--version")
        return
    assert verb in VERBS
    for word in rest:
        if word.startswith("-"):
            assert word.partition("=")[0] in options_of(verb), f"`voy {verb}` has no {word}"


def test_the_fields_of_a_plan_are_listed(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("print(1)\n")
    answer = subprocess.run(
        [*VOY, "plan", "--on", "local", "--json", "--", "true"],
        cwd=tmp_path,
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")},
        capture_output=True,
        check=True,
    )
    listed = set(first_cells(section(page("commands.md"), "voy plan")))
    assert set(json.loads(answer.stdout)) == {word for word in listed if not word.startswith("--")}


def test_the_fields_of_a_status_are_listed() -> None:
    told = section(page("commands.md"), "voy status")
    for field in {*Entry.__struct_fields__, *Record.__struct_fields__} - {"events_size", "token"}:
        assert f"`{field}`" in told


# ── states, events, sites ────────────────────────────────────────────────────────────────────────────────────────────


def test_every_state_is_explained_and_whether_it_is_final() -> None:
    rows = re.findall(r"^\| `(\w+)` \| .* \|( yes)? \|$", section(page("run-folder.md"), "States"), re.MULTILINE)
    assert {name: bool(final) for name, final in rows} == {state.value: state.is_final for state in State}


def events_written() -> set[str]:
    found: set[str] = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and _name(node.func) in ("note", "_note", "append_event"):
                texts = [item.value for item in node.args if isinstance(item, ast.Constant)]
                found.update(text for text in texts if isinstance(text, str))
    return found


def _name(function: ast.expr) -> str:
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def test_every_event_is_explained() -> None:
    assert set(first_cells(section(page("run-folder.md"), "Events"))) == events_written() | {NOT_FOUND, NO_MARKER}


def test_every_file_of_a_run_is_explained() -> None:
    files = {names.RECORD, names.PLAN, names.SCRIPT, names.RUNTIME, names.EVENTS, names.LOG, names.MARKER, names.STOP}
    files.add(names.RESERVE)
    files.add(names.SECRETS)
    assert set(first_cells(section(page("run-folder.md"), "Files"))) == files | {
        "attempt-N.json",
        names.WRITTEN % ("N", "NODE"),
    }


def test_every_fact_of_a_site_is_explained() -> None:
    told = page("profiles.md")
    for field in {*Site.__struct_fields__, *Partition.__struct_fields__, *Gpu.__struct_fields__} - {"engine"}:
        assert f"`{field}`" in told


@pytest.mark.parametrize("group", [name for name, _ in Site(name="", engine="", title="").groups()])
def test_every_fact_of_a_group_is_explained_in_its_section(group: str) -> None:
    told = section(page("profiles.md"), group)
    (kind,) = (field.type for field in msgspec.structs.fields(Site) if field.name == group)
    for field in set(kind.__struct_fields__) - set(Facts.__struct_fields__):
        assert f"`{field}`" in told


# ── examples ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("block", blocks("toml"), ids=named)
def test_toml_examples_are_right(block: Block, tmp_path: Path) -> None:
    """A project file, unless its first line names another one."""
    title = re.match(r"# (\S+\.toml)\n", block.text)
    name = title[1] if title else PROJECT_FILE
    if "/sites/" in name:
        assert from_toml(Path(name).stem, block.text).partitions
        return
    (tmp_path / Path(name).name).write_text(block.text, encoding="utf-8")
    own = tmp_path / "config.toml"
    table = tomllib.loads(block.text)
    read: set[str] = set()
    for experiment, site in itertools.product([None, *table.get("experiment", {})], [None, *table.get("sites", {})]):
        asked = {"experiment": experiment, "site": site}
        flags = {key: Given(value, "a test") for key, value in asked.items() if value}
        spec = read_spec(folder=tmp_path, flags=flags, environment={}, user_file=own)
        read |= set(spec.sources) - set(flags)
    assert read, "nothing of it counts"


@pytest.mark.parametrize("block", blocks("json"), ids=named)
def test_json_examples_are_right(block: Block) -> None:
    assert all(isinstance(json.loads(line), dict) for line in block.text.splitlines())


@pytest.mark.parametrize("block", blocks("python"), ids=named)
def test_python_examples_are_right(block: Block) -> None:
    assert ast.parse(block.text).body


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("file", PAGES, ids=short)
def test_links_lead_somewhere(file: Path) -> None:
    text = re.sub(r"^```.*?^```$", "", file.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        path = target.partition("#")[0]
        if path and not re.match(r"\w+:", target):
            assert (file.parent / path).exists(), target


def test_the_site_builds_and_loads_nothing_from_elsewhere(tmp_path: Path) -> None:
    argv = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    answer = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    for file in tmp_path.rglob("*.html"):
        assert not re.search(r'<(?:script|img|link)[^>]*(?:src|href)="(?:https?:)?//', file.read_text(encoding="utf-8"))


def test_make_targets_that_are_named_are_there() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    for file in (ROOT / "README.md", ROOT / "CONTRIBUTING.md"):
        text = file.read_text(encoding="utf-8")
        assert set(re.findall(r"(?:`|\$ )make (\w+)", text)) <= targets


def test_the_map_of_rooms_is_that_of_the_layers() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| (\d+) \| ([^|]+) \|", text, re.MULTILINE)
    told = {int(step): set(re.findall(r"`(\w+)`", rooms)) for step, rooms in rows}
    there = {path.stem for path in SOURCE.iterdir()}
    assert told == {step: rooms & there for step, rooms in enumerate(STAIRS, 1)}
