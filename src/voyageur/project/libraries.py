"""Which of the large libraries the programs import, and whether they use GPUs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from voyageur.project.files import Tree

_IMPORT = re.compile(r"^\s*(?:from\s+(\w+)[\w.]*\s+import|import\s+([\w., \t]+))", re.MULTILINE)
_KNOWN = {
    "torch": "PyTorch",
    "lightning": "Lightning",
    "pytorch_lightning": "Lightning",
    "accelerate": "Accelerate",
    "deepspeed": "DeepSpeed",
    "tensorflow": "TensorFlow",
    "jax": "JAX",
    "cupy": "CuPy",
    "mpi4py": "mpi4py",
    "horovod": "Horovod",
}
_USES_GPU = re.compile(
    r"\.cuda\(|['\"]cuda(?::\d)?['\"]|torch\.cuda|cuda\.is_available|accelerator\s*=\s*['\"](?:gpu|cuda)"
    r"|list_physical_devices\(\s*['\"]GPU|jax\.devices\(\s*['\"](?:gpu|cuda)"
)
# These take GPUs without being told.
_ALWAYS_GPU = frozenset({"Accelerate", "DeepSpeed", "CuPy"})
_LAUNCH = {
    "Lightning": ("lightning", "Lightning wants one task for each GPU"),
    "mpi4py": ("mpi", "mpi4py wants one task for each rank"),
    "Accelerate": ("accelerate", "Accelerate starts its own workers on each node"),
}


class Libraries(NamedTuple):
    used: dict[str, str]
    gpu: str

    @property
    def launch(self) -> tuple[str, str] | None:
        return next((_LAUNCH[name] for name in _LAUNCH if name in self.used), None)


def find_libraries(tree: Tree) -> Libraries:
    """Each library with the first file that imports it; the first file that speaks of GPUs."""
    used: dict[str, str] = {}
    gpu = ""
    for name in tree.ending(".py")[:1_000]:
        text = tree.text(name)
        for module in _modules(text):
            if module in _KNOWN:
                used.setdefault(_KNOWN[module], name)
        if not gpu and used and _USES_GPU.search(text):
            gpu = name
    always = next((file for library, file in used.items() if library in _ALWAYS_GPU), "")
    return Libraries(used, gpu or always)


def _modules(text: str) -> Iterator[str]:
    for origin, several in _IMPORT.findall(text):
        for part in [origin] if origin else several.split(","):
            yield part.strip().split(" ")[0].split(".")[0]
