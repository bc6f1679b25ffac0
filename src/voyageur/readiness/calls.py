"""What a call means: each question asked once of its whole name, most often with one look into a table."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from voyageur.readiness import displays, downloads, libraries
from voyageur.readiness.context import Context
from voyageur.readiness.listed import listed
from voyageur.readiness.model import Kind, Sighting
from voyageur.readiness.paths import exists_only_here
from voyageur.readiness.programs import deeds
from voyageur.readiness.shell import commands
from voyageur.readiness.shell import sightings_of as shell_sightings

_QUESTIONS = listed(
    "input getpass.getpass pdb.set_trace breakpoint ipdb.set_trace IPython.embed code.interact click.prompt"
    " click.confirm typer.prompt typer.confirm inquirer.prompt questionary.text pudb.set_trace"
)
_PROCESSES = listed(
    "subprocess.run subprocess.call subprocess.check_call subprocess.check_output subprocess.Popen os.system os.popen"
    " subprocess.getoutput subprocess.getstatusoutput"
)
_CORES = frozenset({"os.cpu_count", "multiprocessing.cpu_count"})
_POOLS = {
    "multiprocessing.Pool": "processes",
    "multiprocessing.pool.Pool": "processes",
    "torch.multiprocessing.Pool": "processes",
    "concurrent.futures.ProcessPoolExecutor": "max_workers",
    "concurrent.futures.process.ProcessPoolExecutor": "max_workers",
}
_TALK = listed(
    "print debug info warning warn error critical exception log write startswith endswith replace strip removeprefix"
    " removesuffix split join compile match search sub findall format echo secho fail skip append add get exists isdir"
    " isfile is_file is_dir access add_argument option getLogger lstrip rstrip index find count field Field"
)


def is_talk(name: str) -> bool:
    """These take texts to show or to compare them; a path in one is not opened."""
    last = name.rpartition(".")[2]
    return (last in _TALK and name != "sys.path.append") or last.endswith(("Error", "Exception", "Warning"))


_LASTS = (
    {name.rpartition(".")[2] for table in (displays.EXACT, downloads.EXACT, _POOLS) for name in table}
    | {name.rpartition(".")[2] for table in (_QUESTIONS, _PROCESSES, _CORES, displays.BACKEND_CALLS) for name in table}
    | {name.rpartition(".")[2] for table in (downloads.BY_ADDRESS, libraries.STRONG_SAVES) for name in table}
    | {name.rpartition(".")[2] for table in (libraries.WEAK_SAVES, libraries.LOADS) for name in table}
    | libraries.STRONG_SAVE_ENDS | libraries.WEAK_SAVE_ENDS | libraries.LOAD_ENDS | libraries.TRAINERS
    | libraries.SPREADING_ENDS | libraries.PRECISION_ENDS
    | {"DataLoader", "WandbLogger", "backward", "from_pretrained", "getenv", "open", "sched_getaffinity", "setdefault"}
)  # fmt: skip
_STARTS = (*displays.STARTS, *downloads.STARTS, *libraries.SPREADING, "get_ipython()")


def may_matter(name: str, node: ast.Call) -> bool:
    """A quick look: of a hundred calls, few are worth the questions below."""
    if name.rpartition(".")[2] in _LASTS or name.startswith(_STARTS):
        return True
    return any(word.arg in libraries.RESUME_WORDS | libraries.PRECISION_WORDS for word in node.keywords)


def sightings_of(name: str, node: ast.Call, context: Context) -> Iterator[Sighting]:
    last = name.rpartition(".")[2]
    if name in _QUESTIONS:
        yield context.seen(Kind.ASK, name)
    elif name in _PROCESSES:
        yield from _process(name, node, context)
    elif name in _CORES:
        yield context.seen(Kind.CORES, name)
    elif name == "os.sched_getaffinity":
        yield context.seen(Kind.OWN_CORES, name)
    elif name in _POOLS:
        yield from _pool(name, node, context)
    elif last == "DataLoader" and name.partition(".")[0] in libraries.LIBRARIES:
        yield from _loader(name, node, context)
    yield from _display(name, node, context)
    yield from _download(name, node, context)
    yield from _lasting(name, last, node, context)
    if name.startswith(libraries.SPREADING) or last in libraries.SPREADING_ENDS:
        yield context.seen(Kind.SPREADS, name)
    if last in libraries.PRECISION_ENDS or any(word.arg in libraries.PRECISION_WORDS for word in node.keywords):
        yield context.seen(Kind.PRECISION, name)


# ── windows ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def _display(name: str, node: ast.Call, context: Context) -> Iterator[Sighting]:
    if name in displays.BACKEND_CALLS and node.args:
        known = context.literal(node.args[0])
        if known and displays.backend(known[0]):
            yield context.seen(Kind.DISPLAY, name, text=known[0])
        elif known:
            yield context.seen(Kind.SETS, "MPLBACKEND", text=known[0])
    elif displays.display_of(name):
        yield context.seen(Kind.DISPLAY, name)
    elif name.startswith("get_ipython()"):
        yield from _notebook_command(name, node, context)


def _notebook_command(name: str, node: ast.Call, context: Context) -> Iterator[Sighting]:
    words = [known[0] for each in node.args if (known := context.literal(each))]
    if name.endswith(".system") and words:
        yield from _shell(words[0], context)
    elif words[:1] in (["pip"], ["conda"], ["mamba"]):
        yield from _shell(" ".join(words), context)
    else:
        yield context.seen(Kind.DISPLAY, name, text=" ".join(words))


# ── other programs ───────────────────────────────────────────────────────────────────────────────────────────────────


def _process(name: str, node: ast.Call, context: Context) -> Iterator[Sighting]:
    first = node.args[0] if node.args else next((word.value for word in node.keywords if word.arg == "args"), None)
    known = context.literal(first)
    if isinstance(first, ast.List | ast.Tuple):
        argv = [_word(part, context) for part in first.elts]
        told = [context.seen(deed.kind, deed.name, text=deed.text, family=deed.family) for deed in deeds(argv)]
        here = [word for word in argv if exists_only_here(word)]
        told += [context.seen(Kind.PATH, name, text=word, reads=True) for word in here]
    else:
        told = list(_shell(known[0], context)) if known else []
    yield from told
    if all(each.kind is Kind.PATH for each in told):
        yield context.seen(Kind.STARTS, name)  # nobody knows what


def _word(node: ast.expr, context: Context) -> str:
    if context.scopes.dotted(node) == "sys.executable":
        return "sys.executable"
    known = context.literal(node)
    return known[0] if known else "?"


def _shell(text: str, context: Context) -> Iterator[Sighting]:
    for _, words, _ in commands(text):
        for found in shell_sightings(words, context.line):
            if found.kind is not Kind.SETS:
                yield context.seen(found.kind, found.name, text=found.text, family=found.family, reads=found.reads)


# ── processes ────────────────────────────────────────────────────────────────────────────────────────────────────────


def _pool(name: str, node: ast.Call, context: Context) -> Iterator[Sighting]:
    keyword = _POOLS[name]
    if not node.args and not any(word.arg in (keyword, None) for word in node.keywords):
        yield context.seen(Kind.CORES, f"{name.rpartition('.')[2]}()", family=keyword)


def _loader(name: str, node: ast.Call, context: Context) -> Iterator[Sighting]:
    words = {word.arg: word.value for word in node.keywords}
    if None in words:  # **options could hold anything
        return
    if not words.keys() & {"batch_size", "batch_sampler"} and len(node.args) < 2:
        yield context.seen(Kind.BATCH, name)
    value = words.get("num_workers")
    if value is None:
        if len(node.args) < 6:  # num_workers is the sixth
            yield context.seen(Kind.WORKERS, name, number=0)
    elif isinstance(value, ast.Constant) and isinstance(value.value, int):
        yield context.seen(Kind.WORKERS, name, number=value.value, line=value.lineno)
    elif isinstance(value, ast.Attribute):
        yield context.seen(Kind.WORKERS, name, option=value.attr, line=value.lineno)
    elif isinstance(value, ast.Name):
        yield context.seen(Kind.WORKERS, name, option=value.id, line=value.lineno)


# ── the network ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _download(name: str, node: ast.Call, context: Context) -> Iterator[Sighting]:
    family = downloads.family_of(name)
    if family is None:
        return
    words = {word.arg: word.value for word in node.keywords if word.arg}
    first = node.args[0] if node.args else next(iter(words.values()), None)
    known = context.literal(first)
    text = known[0] if known else ""
    if downloads.needs_address(name) and not downloads.is_address(text):
        return
    if _fetches(name, family, text, words):
        option = first.attr if isinstance(first, ast.Attribute) and not text else ""
        yield context.seen(Kind.DOWNLOAD, name, text=text, family=family, option=option)


def _fetches(name: str, family: str, text: str, words: dict[str, ast.expr]) -> bool:
    said = {word: value.value for word, value in words.items() if isinstance(value, ast.Constant)}
    if family == "dataset":
        return said.get("download") is True
    if family == "torch" and name.startswith(("torchvision.models.", "timm.")):
        return said.get("pretrained") is True or said.get("weights") not in (None, "") or _names_weights(words)
    if family == "keras" and ".applications." in name:
        return said.get("weights", "imagenet") == "imagenet"
    if said.get("mode") in ("offline", "disabled", "debug") or said.get("offline") is True:
        return False
    if "mode" in words and "mode" not in said:  # a switch of the program's own
        return False
    if said.get("local_files_only") is True or said.get("download_if_missing") is False:
        return False
    if name == "torch.hub.load" and said.get("source") == "local":
        return False
    if name == "datasets.load_dataset" and text in downloads.LOCAL_FORMATS:
        return False
    return not text.startswith(("/", "./", "../", "~"))


def _names_weights(words: dict[str, ast.expr]) -> bool:
    return isinstance(words.get("weights"), ast.Attribute)


# ── what outlives the job ────────────────────────────────────────────────────────────────────────────────────────────


def _lasting(name: str, last: str, node: ast.Call, context: Context) -> Iterator[Sighting]:
    words = {word.arg: word.value for word in node.keywords if word.arg}
    if (strong := libraries.saves(name, last)) is not None:
        family = libraries.format_of(name)
        yield context.seen(Kind.STRONG_SAVE if strong else Kind.WEAK_SAVE, name, family=family)
    if name in ("open", "gzip.open", "io.open") or last == "open":
        mode = node.args[1] if len(node.args) > 1 else words.get("mode")
        if isinstance(mode, ast.Constant) and str(mode.value)[:1] in ("w", "a", "x"):
            yield context.seen(Kind.WEAK_SAVE, name)
    if last == "backward":
        yield context.seen(Kind.TRAINS, name)
    if libraries.loads(name, last):
        yield context.seen(Kind.LOAD, name, family=libraries.format_of(name))
    for word in libraries.RESUME_WORDS & words.keys():
        value = words[word]
        if not (isinstance(value, ast.Constant) and value.value in (None, False)):
            yield context.seen(Kind.LOAD, word)
    if name in ("os.environ.get", "os.getenv", "os.environ.setdefault") and node.args:
        yield from _variable(name, node, context)


def _variable(name: str, node: ast.Call, context: Context) -> Iterator[Sighting]:
    if name.endswith("setdefault") and len(node.args) > 1:
        key, value = (context.literal(each) for each in node.args[:2])
        if key and value:
            yield context.seen(Kind.SETS, key[0], text=value[0])
