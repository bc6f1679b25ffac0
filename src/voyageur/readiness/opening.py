"""Paths among the arguments of a call."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from voyageur.readiness.context import PATH_TYPES, Context
from voyageur.readiness.listed import listed
from voyageur.readiness.model import Kind, Sighting
from voyageur.readiness.paths import exists_only_here, is_home, leaves_upwards, may_be_path

_WRITERS = listed("makedirs mkdir save savez to_csv savetxt write_text write_bytes dump SummaryWriter")
_OPENERS = listed(
    "open io.open gzip.open numpy.load numpy.loadtxt numpy.genfromtxt numpy.save numpy.savez torch.load torch.save"
    " os.listdir os.scandir os.walk os.makedirs os.mkdir os.chdir glob.glob glob.iglob h5py.File PIL.Image.open"
    " cv2.imread cv2.imwrite shutil.copy shutil.copytree shutil.move xarray.open_dataset netCDF4.Dataset joblib.load"
    " joblib.dump torchvision.datasets.ImageFolder zipfile.ZipFile tarfile.open sqlite3.connect soundfile.read"
    " librosa.load torchaudio.load datasets.load_from_disk os.path.expanduser"
)
_LITERALS = frozenset({ast.Constant, ast.Name, ast.BinOp, ast.JoinedStr, ast.Call})


def path_sightings(name: str, node: ast.Call, context: Context) -> Iterator[Sighting]:
    """Literals among the arguments that can only be paths of this machine; for calls that open files, others, too."""
    for value in [*node.args, *(word.value for word in node.keywords)]:
        known = context.literal(value) if value.__class__ in _LITERALS else None
        if known is None or not may_be_path(known[0]):
            continue
        text, line = known
        if exists_only_here(text) or ((is_home(text) or leaves_upwards(text)) and _opens(name)):
            yield context.seen(Kind.PATH, name, text=text, line=line, reads=not _writes(name, node))


def _opens(name: str) -> bool:
    """Calls whose first argument is a file or a folder beyond doubt."""
    last = name.rpartition(".")[2]
    return name in _OPENERS or name in PATH_TYPES or (name.startswith("pandas.read_")) or last in _WRITERS


def _writes(name: str, node: ast.Call) -> bool:
    last = name.rpartition(".")[2]
    if last in ("open", "File"):
        mode = node.args[1] if len(node.args) > 1 else next((w.value for w in node.keywords if w.arg == "mode"), None)
        return isinstance(mode, ast.Constant) and str(mode.value)[:1] in ("w", "a", "x")
    return last in _WRITERS
