"""From files, variables and flags to one Spec: later wins, key by key, and every value remembers its source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from voyageur.errors import SpecError
from voyageur.spec import keys, toml
from voyageur.spec.model import (
    Check,
    Checkpoint,
    Environment,
    Launch,
    Project,
    Resources,
    Results,
    Retry,
    Snapshot,
    Spec,
)

PROJECT_FILE = "voyageur.toml"
LEAVES = frozenset({"env.variables", "data"})  # tables that are values, merged name by name


class Given(NamedTuple):
    """A value as somebody wrote it, and where."""

    value: Any
    source: str


Layer = dict[str, Given]


def read_spec(
    *,
    folder: Path,
    flags: Mapping[str, Given],
    environment: Mapping[str, str],
    config: Path | None = None,
    user_file: Path | None = None,
    usual_site: str | None = None,
) -> Spec:
    """`folder` is where the command was typed; the project is the nearest folder above it with a project file.

    `usual_site` is where runs go when nobody says: its [sites.NAME] table counts, too.
    """
    file, table = _project_table(folder, config)
    root = file.parent if file and file != config else folder
    spoken = _from_variables(environment) | dict(flags)
    user_layer, own_experiments = _split(*_user_table(user_file), label=_label(user_file, environment))
    project_layer, experiments = _split(file, table, label=file.name if file else "")
    named = spoken.get("experiment") or project_layer.get("experiment") or user_layer.get("experiment")
    chosen_experiments = _experiment_layers([own_experiments, experiments], named)
    layers = [user_layer, project_layer, *chosen_experiments]
    chosen = _chosen_site([spoken, *reversed(layers)]) or usual_site
    merged: Layer = {}
    for layer in layers:
        merged |= _for_site(layer, chosen)
    merged |= spoken
    for key in LEAVES:
        _merge_names(key, merged, [*layers, spoken], chosen)
    tables = _site_tables([user_layer, project_layer, *own_experiments.values(), *experiments.values()])
    return _build(_project(root, folder, file, merged), merged, tables)


def project_root(folder: Path) -> Path:
    file, _ = _project_table(folder, None)
    return file.parent if file else folder


def experiment_names(folder: Path, user_file: Path) -> list[str]:
    """Those that have a table, the project's first."""
    tables = [_project_table(folder, None)[1], _user_table(user_file)[1]]
    found = [table["experiment"] for table in tables if isinstance(table.get("experiment"), dict)]
    return list(dict.fromkeys(name for experiments in found for name in experiments))


def _project_table(folder: Path, config: Path | None) -> tuple[Path | None, dict[str, Any]]:
    if config is not None:
        return config, _named_table(config)
    for place in (folder, *folder.parents):
        file = place / PROJECT_FILE
        if file.is_file():
            return file, toml.read(file)
        pyproject = place / "pyproject.toml"
        if pyproject.is_file():
            tool = toml.read(pyproject).get("tool", {})
            if isinstance(tool, dict) and "voyageur" in tool:
                return pyproject, _table_of(pyproject, "tool.voyageur", tool["voyageur"])
    return None, {}


def _named_table(config: Path) -> dict[str, Any]:
    table = toml.read(config)
    if config.name != "pyproject.toml":
        return table
    tool = table.get("tool", {})
    if not isinstance(tool, dict) or "voyageur" not in tool:
        raise SpecError(
            "pyproject.toml has no table [tool.voyageur]",
            facts=[f"{config}, given by --config"],
            hint="add it, or name a file of its own with `--config`",
        )
    return _table_of(config, "tool.voyageur", tool["voyageur"])


def _label(file: Path | None, environment: Mapping[str, str]) -> str:
    """The user's own file as people write it: its name alone could be anybody's."""
    home, text = environment.get("HOME", ""), str(file or "")
    return f"~{text.removeprefix(home)}" if home and text.startswith(f"{home}/") else text


def _user_table(file: Path | None) -> tuple[Path | None, dict[str, Any]]:
    return (file, toml.read(file)) if file and file.is_file() else (None, {})


def _split(file: Path | None, table: dict[str, Any], *, label: str) -> tuple[Layer, dict[str, Layer]]:
    """A file's own keys (those of `sites.NAME` included, still prefixed), and its experiments."""
    if file is None:
        return {}, {}
    rest = {key: value for key, value in table.items() if key != "experiment" or not isinstance(value, dict)}
    experiments = table.get("experiment")
    tables = experiments if isinstance(experiments, dict) else {}
    prefix = "tool.voyageur." if file.name == "pyproject.toml" else ""
    text = toml.text_of(file)
    return (
        _layer(label, text, rest, prefix),
        {
            name: _layer(label, text, _table_of(file, f"experiment.{name}", inner), f"{prefix}experiment.{name}.")
            for name, inner in tables.items()
        },
    )


def _table_of(file: Path, name: str, inner: Any) -> dict[str, Any]:
    if not isinstance(inner, dict):
        raise SpecError(f"`{name}` must be a table", facts=[f"in {file.name}"], hint=f"write [{name}]")
    return inner


def _layer(label: str, text: str, table: dict[str, Any], prefix: str) -> Layer:
    layer = {}
    for path, value in toml.flat(table, LEAVES).items():
        line = toml.line_of(text, prefix + path)
        source = f"{label}:{line}" if line else label
        _check_known(path, source)
        layer[path] = Given(value, source)
    return layer


def _check_known(path: str, source: str) -> None:
    own = path.split(".", 2)[2] if path.startswith("sites.") and path.count(".") >= 2 else path
    if own in keys.KEYS:
        return
    if own in _TABLES:
        raise SpecError(
            f"`{path}` must be a table", facts=[f"in {source}"], hint=f"write [{path}] and its keys below it"
        )
    guess = _nearest_key(own)
    hint = f"did you mean `{guess}`?" if guess else "`voy init --print` lists the keys there are"
    raise SpecError(f"unknown key `{path}`", facts=[f"in {source}"], hint=hint)


_TABLES = frozenset({key.split(".")[0] for key in keys.KEYS if "." in key} | {"sites", "experiment"})


def _nearest_key(wrong: str) -> str | None:
    """Within its table, if that is spelled right; else among all keys, and among the tables."""
    table, _, key = wrong.rpartition(".")
    if table in _TABLES:
        guess = keys.nearest(
            key, [known.removeprefix(f"{table}.") for known in keys.KEYS if known.startswith(f"{table}.")]
        )
        return f"{table}.{guess}" if guess else None
    elsewhere = next((known for known in keys.KEYS if known.rpartition(".")[2] == key), None)
    return elsewhere or keys.nearest(wrong, [*keys.KEYS, *_TABLES])


def _experiment_layers(files: list[dict[str, Layer]], chosen: Given | None) -> list[Layer]:
    """The chosen experiment as each file has it, the user's own first."""
    known = sorted({name for experiments in files for name in experiments})
    if chosen is None or not known:
        return []
    _value("experiment", chosen)
    name = str(chosen.value)
    if name not in known:
        guess = keys.nearest(name, known)
        raise SpecError(
            f"there is no experiment `{name}`",
            facts=[f"given by {chosen.source}", "defined: " + ", ".join(known)],
            hint=f"did you mean `{guess}`?" if guess else f"add a table [experiment.{name}]",
        )
    return [experiments[name] for experiments in files if name in experiments]


def _from_variables(environment: Mapping[str, str]) -> Layer:
    layer = {}
    for name, value in environment.items():
        if name in keys.VARIABLES and value:
            layer[keys.VARIABLES[name]] = Given(value, name)
        elif name.startswith("VOY_") and value and _IN_A_JOB not in environment:
            _check_variable(name)
    return layer


_IN_A_JOB = "VOY_RUN_DIR"  # a job has many more of these, and none of them is a wish


def _check_variable(name: str) -> None:
    guess = keys.nearest_variable(name)
    if name not in keys.VARIABLES and guess:
        raise SpecError(
            f"unknown variable {name}",
            facts=["it is set in this shell, but Voyageur reads none of that name"],
            hint=f"did you mean {guess}? Else `unset {name}`",
        )


def _chosen_site(layers: Iterable[Layer]) -> str | None:
    return next((str(layer["site"].value) for layer in layers if "site" in layer), None)


def _site_tables(layers: Iterable[Layer]) -> dict[str, str]:
    return {
        path.split(".")[1]: given.source
        for layer in layers
        for path, given in layer.items()
        if path.startswith("sites.")
    }


def _for_site(layer: Layer, site: str | None) -> Layer:
    """A file's keys, those of its [sites.SITE] table laid over them, those of other sites left out."""
    common = {path: given for path, given in layer.items() if not path.startswith("sites.")}
    prefix = f"sites.{site}."
    special = {path.removeprefix(prefix): given for path, given in layer.items() if path.startswith(prefix)}
    return common | special


def _merge_names(key: str, merged: Layer, layers: Iterable[Layer], site: str | None) -> None:
    """Environment variables and datasets are merged name by name, not table by table."""
    names = (key, f"sites.{site}.{key}")
    tables = [layer[name] for layer in layers for name in names if name in layer]
    if all(isinstance(given.value, dict) for given in tables) and len(tables) > 1:
        together = {name: value for given in tables for name, value in given.value.items()}
        merged[key] = Given(together, ", ".join(given.source for given in tables))


def _project(root: Path, folder: Path, file: Path | None, merged: Layer) -> Project:
    given = merged.pop("project", None)
    name = _value("project", given) if given else root.name or "root"
    return Project(root=root, name=name, start_in=os.path.relpath(folder, root), file=file)


def _build(project: Project, merged: Layer, site_tables: dict[str, str]) -> Spec:
    values = {path: _value(path, given) for path, given in merged.items()}
    groups: dict[str, dict[str, Any]] = {}
    for path, value in values.items():
        table, _, key = path.rpartition(".")
        groups.setdefault(table, {})["with_" if key == "with" else key] = value
    return Spec(
        project=project,
        resources=Resources(**groups.get("resources", {})),
        env=Environment(**groups.get("env", {})),
        launch=Launch(**groups.get("launch", {})),
        checkpoint=Checkpoint(**groups.get("checkpoint", {})),
        results=Results(**groups.get("results", {})),
        retry=Retry(**groups.get("retry", {})),
        snapshot=Snapshot(**groups.get("snapshot", {})),
        check=Check(**groups.get("check", {})),
        sources={path: given.source for path, given in merged.items()},
        given={path: msgspec.to_builtins(given.value) for path, given in merged.items()},
        site_tables=site_tables,
        **groups.get("", {}),
    )


def _value(path: str, given: Given) -> Any:
    try:
        return keys.KEYS[path](given.value)
    except ValueError as problem:
        shown = given.value if isinstance(given.value, str) else repr(given.value)
        raise SpecError(
            f"{given.source}: `{path}` is not right",
            facts=[f"{_shortened(shown)}: {problem}"],
            hint=_EXAMPLES.get(path, "`voy init --print` shows how each key is written"),
        ) from None


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


_NAME = "choose a plain name, like `baseline` or `lr-0.1`"
_TIME = "write it like 3d, 24h, 90m or 1-12:00:00"
_EXAMPLES = {
    "command": "give it after two dashes: `voy run -- python train.py`",
    "experiment": _NAME,
    "project": _NAME,
    "resources.nodes": "ask for one node or more, like `--nodes 2`",
    "resources.gpus": "ask for so many on each node, like `--gpus 1`; 0 is none",
    "resources.tasks": "ask for one task or more on each node, like `--tasks 4`",
    "resources.cpus": "ask for one CPU or more on each node, like `--cpus 8`",
    "resources.memory": "write it like 32000M or 10G, for each node",
    "resources.memory_per_gpu": "write it like 10G",
    "resources.disk": "write it like 300G, for each node",
    "resources.time": _TIME,
    "checkpoint.warn": _TIME,
    "checkpoint.chain": "write `auto`, a number of pieces like 10, or the length of one like `24h`",
    "checkpoint.progress": "write it like `epoch (\\d+)/(\\d+)`",
    "retry.memory": "write it like 1.5",
    "retry.time": "write it like 1.5",
    "snapshot.limit": "write it like 500M",
    "data": 'write it like imagenet = "datasets/imagenet.tar", or { from = "labels/", stage = "unpack" }',
    "results.every": _TIME,
    "requeue": "write `requeue = true` or `requeue = false`",
}
