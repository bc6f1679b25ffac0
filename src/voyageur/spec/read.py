"""From files, variables and flags to one Spec: later wins, key by key, and every value remembers its source."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from voyageur.errors import SpecError
from voyageur.spec import keys, toml
from voyageur.spec.model import Checkpoint, Environment, Launch, Project, Resources, Snapshot, Spec

PROJECT_FILE = "voyageur.toml"
_LEAVES = frozenset({"env.variables"})


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
    project_layer, experiments = _split(file, table)
    user_layer, own_experiments = _split(*_user_table(user_file))
    named = spoken.get("experiment") or project_layer.get("experiment")
    experiment = _experiment_layer(own_experiments | experiments, named)
    chosen = _chosen_site([spoken, experiment, project_layer, user_layer]) or usual_site
    merged: Layer = {}
    for layer in (user_layer, project_layer, experiment):
        merged |= _for_site(layer, chosen)
    merged |= spoken
    _merge_variables(merged, [user_layer, project_layer, experiment], chosen)
    return _build(_project(root, folder, file, merged), merged)


def project_root(folder: Path) -> Path:
    file, _ = _project_table(folder, None)
    return file.parent if file else folder


def _project_table(folder: Path, config: Path | None) -> tuple[Path | None, dict[str, Any]]:
    if config is not None:
        return config, toml.read(config)
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


def _user_table(file: Path | None) -> tuple[Path | None, dict[str, Any]]:
    return (file, toml.read(file)) if file and file.is_file() else (None, {})


def _split(file: Path | None, table: dict[str, Any]) -> tuple[Layer, dict[str, Layer]]:
    """A file's own keys (those of `sites.NAME` included, still prefixed), and its experiments."""
    if file is None:
        return {}, {}
    rest = {key: value for key, value in table.items() if key != "experiment" or not isinstance(value, dict)}
    experiments = table.get("experiment")
    tables = experiments if isinstance(experiments, dict) else {}
    prefix = "tool.voyageur." if file.name == "pyproject.toml" else ""
    text = file.read_text(encoding="utf-8")
    return (
        _layer(file, text, rest, prefix),
        {
            name: _layer(file, text, _table_of(file, f"experiment.{name}", inner), f"{prefix}experiment.{name}.")
            for name, inner in tables.items()
        },
    )


def _table_of(file: Path, name: str, inner: Any) -> dict[str, Any]:
    if not isinstance(inner, dict):
        raise SpecError(f"`{name}` must be a table", facts=[f"in {file.name}"], hint=f"write [{name}]")
    return inner


def _layer(file: Path, text: str, table: dict[str, Any], prefix: str) -> Layer:
    layer = {}
    for path, value in toml.flat(table, _LEAVES).items():
        line = toml.line_of(text, prefix + path)
        source = f"{file.name}:{line}" if line else file.name
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


def _experiment_layer(experiments: dict[str, Layer], chosen: Given | None) -> Layer:
    if chosen is None or not experiments:
        return {}
    _value("experiment", chosen)
    if chosen.value not in experiments:
        guess = keys.nearest(str(chosen.value), experiments)
        raise SpecError(
            f"there is no experiment `{chosen.value}`",
            facts=[f"given by {chosen.source}", "defined: " + ", ".join(sorted(experiments))],
            hint=f"did you mean `{guess}`?" if guess else f"add a table [experiment.{chosen.value}]",
        )
    return experiments[str(chosen.value)]


def _from_variables(environment: Mapping[str, str]) -> Layer:
    layer = {}
    for name, value in environment.items():
        if name in keys.VARIABLES and value:
            layer[keys.VARIABLES[name]] = Given(value, name)
    return layer


def _chosen_site(layers: Iterable[Layer]) -> str | None:
    return next((str(layer["site"].value) for layer in layers if "site" in layer), None)


def _for_site(layer: Layer, site: str | None) -> Layer:
    """A file's keys, those of its [sites.SITE] table laid over them, those of other sites left out."""
    common = {path: given for path, given in layer.items() if not path.startswith("sites.")}
    prefix = f"sites.{site}."
    special = {path.removeprefix(prefix): given for path, given in layer.items() if path.startswith(prefix)}
    return common | special


def _merge_variables(merged: Layer, layers: Iterable[Layer], site: str | None) -> None:
    """Environment variables are merged name by name, not table by table."""
    names = ("env.variables", f"sites.{site}.env.variables")
    tables = [layer[name] for layer in layers for name in names if name in layer]
    if all(isinstance(given.value, dict) for given in tables) and len(tables) > 1:
        together = {name: value for given in tables for name, value in given.value.items()}
        merged["env.variables"] = Given(together, ", ".join(given.source for given in tables))


def _project(root: Path, folder: Path, file: Path | None, merged: Layer) -> Project:
    given = merged.pop("project", None)
    name = _value("project", given) if given else root.name or "root"
    return Project(root=root, name=name, start_in=os.path.relpath(folder, root), file=file)


def _build(project: Project, merged: Layer) -> Spec:
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
        snapshot=Snapshot(**groups.get("snapshot", {})),
        sources={path: given.source for path, given in merged.items()},
        given={path: msgspec.to_builtins(given.value) for path, given in merged.items()},
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
            hint=_EXAMPLES.get(path),
        ) from None


def _shortened(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."


_EXAMPLES = {
    "resources.time": "write it like 3d, 24h, 90m or 1-12:00:00",
    "resources.memory": "write it like 32000M or 10G, for each node",
    "command": "give it after two dashes: `voy run -- python train.py`",
}
