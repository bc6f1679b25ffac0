"""What a program's text says of how it wants to be started, by Python's own parser. Runs nothing."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct


class Sign(NamedTuple):
    """`devices` and `nodes` are what a Lightning Trainer is told, or how many workers a program spawns on its node.

    None: nothing that can be known from the text.
    """

    style: str
    file: str
    line: int
    what: str
    devices: int | None = None
    nodes: int | None = None

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"

    @property
    def package(self) -> str:
        return self.what.partition(".")[0]

    @property
    def name(self) -> str:
        return self.what.rpartition(".")[2]


class Recognised(Struct, frozen=True, kw_only=True):
    """The style that a program wants, with its reason, and every sign that led there."""

    style: str
    because: str
    signs: tuple[Sign, ...] = ()

    def trainers(self) -> list[Sign]:
        """Those of Lightning that compare what they are told with what there is; a program may make several."""
        return [sign for sign in self.signs if sign.style == "lightning" and sign.name in ("Trainer", "Fabric")]

    def spawn(self) -> Sign | None:
        return next((sign for sign in self.signs if sign.style == "per-node"), None)


_OF_TRL = ("SFTTrainer", "DPOTrainer", "GRPOTrainer", "KTOTrainer", "PPOTrainer", "RewardTrainer")
# The more special first: a Lightning program may call torch.distributed, too.
_CALLS = (
    ("lightning", ("Trainer", "Fabric", "LightningCLI"), ("lightning", "pytorch_lightning", "lightning_fabric")),
    ("accelerate", ("Accelerator",), ("accelerate",)),
    ("deepspeed", ("initialize", "init_distributed"), ("deepspeed",)),
    ("horovod", ("init",), ("horovod",)),
    ("tensorflow", ("MultiWorkerMirroredStrategy",), ("tensorflow",)),
    ("jax", ("initialize",), ("jax.distributed",)),
    ("ray", ("init",), ("ray",)),
    ("per-node", ("spawn", "start_processes"), ("torch.multiprocessing",)),
    ("torchrun", ("init_process_group", "init_device_mesh"), ("torch.distributed",)),
    ("torchrun", ("Trainer", "Seq2SeqTrainer", *_OF_TRL), ("transformers", "trl")),
    ("dask", ("Client",), ("dask.distributed", "distributed")),
    ("spark", ("SparkSession", "SparkContext", "getOrCreate"), ("pyspark",)),
)
_IMPORTS = (("mpi", "mpi4py.MPI"), ("mpi", "mpi4py"))
_ORDER = [style for style, _, _ in _CALLS] + ["mpi"]


def signs_in(file: str, text: str) -> list[Sign]:
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return []
    names = dict(_names(tree))
    found = [sign for node in ast.walk(tree) for sign in _signs_of(file, node, names)]
    return [_by_slurm(sign, text) for sign in found]


def recognise(signs: Iterable[Sign]) -> Recognised | None:
    found = sorted(signs, key=lambda sign: (_rank(sign.style), sign.file, sign.line))
    if not found:
        return None
    first = found[0]
    verb = "imports" if first.style == "mpi" else "calls"
    return Recognised(style=first.style, because=f"{first.place} {verb} {first.what}", signs=tuple(found))


def modules_of(text: str) -> Iterator[str]:
    """Dotted names of what a program imports; `from a import b` may mean the module `a.b` as well."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            dots = "." * node.level
            module = f"{dots}{node.module or ''}"
            yield module
            yield from (f"{module}{'' if module.endswith('.') else '.'}{alias.name}" for alias in node.names)


def _rank(style: str) -> int:
    return _ORDER.index("torchrun" if style == "per-rank" else style)


def _by_slurm(sign: Sign, text: str) -> Sign:
    """A program that reads Slurm's own variables wants Slurm's own tasks."""
    if sign.style == "torchrun" and "SLURM_PROCID" in text:
        return sign._replace(style="per-rank", what=f"{sign.what} and reads SLURM_PROCID")
    return sign


def _names(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What each imported name stands for: `dist` for torch.distributed, `Trainer` for lightning.Trainer."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                first = alias.name.split(".")[0]
                yield (alias.asname, alias.name) if alias.asname else (first, first)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            for alias in node.names:
                yield alias.asname or alias.name, f"{node.module}.{alias.name}"


def _signs_of(file: str, node: ast.AST, names: dict[str, str]) -> Iterator[Sign]:
    if isinstance(node, ast.Import | ast.ImportFrom):
        yield from _imports(file, node)
    if not isinstance(node, ast.Call):
        return
    called = _dotted(node.func, names)
    package, _, function = called.rpartition(".")
    for style, functions, packages in _CALLS:
        known = any(package == name or package.startswith(f"{name}.") for name in packages)
        if function in functions and known and not (style == "dask" and _has_a_cluster(node)):
            yield Sign(style, file, node.lineno, called, *_numbers(style, node))
            return


def _has_a_cluster(client: ast.Call) -> bool:
    """`Client(cluster)`, `Client(n_workers=4)`: of its own, and ours would stand idle beside it."""
    told = {word.arg for word in client.keywords}
    return bool(client.args or told & {None, "address", "n_workers", "processes", "scheduler_file"})


def _imports(file: str, node: ast.Import | ast.ImportFrom) -> Iterator[Sign]:
    modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else [node.module or ""]
    for style, wanted in _IMPORTS:
        if wanted in modules:
            yield Sign(style, file, node.lineno, "mpi4py")
            return


def _dotted(node: ast.expr, names: dict[str, str]) -> str:
    """`dist.init_process_group` with the import's own name in front; empty for what is no plain name."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute | ast.Call):
        if isinstance(node, ast.Call):  # SparkSession.builder.appName("x").getOrCreate()
            node = node.func
        else:
            parts.append(node.attr)
            node = node.value
    if not isinstance(node, ast.Name) or node.id not in names:
        return ""
    return ".".join([names[node.id], *reversed(parts)])


# ── what a Lightning Trainer, or a spawn, is told ────────────────────────────────────────────────────────────────────


def _numbers(style: str, call: ast.Call) -> tuple[int | None, int | None]:
    if style == "lightning":
        return _trainer(call)
    return (_spawned(call), None) if style == "per-node" else (None, None)


def _spawned(call: ast.Call) -> int | None:
    """`spawn(fn, args=(), nprocs=1)`; `start_processes` begins alike."""
    told = {word.arg: word.value for word in call.keywords}
    node = told.get("nprocs", call.args[2] if len(call.args) > 2 else None)
    return _number(node) if node else None


def _trainer(call: ast.Call) -> tuple[int | None, int | None]:
    """None where it cannot be known; Lightning's own default for the nodes is one."""
    told = {word.arg: word.value for word in call.keywords}
    if None in told:  # **options
        return None, None
    nodes = _number(told["num_nodes"]) if "num_nodes" in told else 1
    devices = told.get("devices", told.get("gpus"))  # before Lightning 2.0 they were `gpus`
    return (_number(devices) if devices else None), nodes


def _number(node: ast.expr) -> int | None:
    if isinstance(node, ast.List | ast.Tuple):
        return len(node.elts)
    if isinstance(node, ast.Constant) and isinstance(node.value, int | str) and not isinstance(node.value, bool):
        text = str(node.value)
        return int(text) if text.isdecimal() and int(text) > 0 else None
    return None
