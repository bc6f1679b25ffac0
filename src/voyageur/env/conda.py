"""environment.yml as far as pip can follow it: the usual form of the file, and conda's names of what PyPI has, too."""

from __future__ import annotations

import re
from collections.abc import Iterator

from msgspec import Struct

# What PyPI calls otherwise.
_OTHERWISE = {
    "dask-core": "dask",
    "matplotlib-base": "matplotlib",
    "msgpack-python": "msgpack",
    "opencv": "opencv-python-headless",
    "py-opencv": "opencv-python-headless",
    "pytables": "tables",
    "python-graphviz": "graphviz",
    "pytorch": "torch",
    "pytorch-cpu": "torch",
    "pytorch-gpu": "torch",
    "seaborn-base": "seaborn",
    "tensorflow-gpu": "tensorflow",
}
# No Python packages, or what a wheel of PyPI brings by itself.
_NOT_PYTHON = re.compile(
    r"_?(lib.*|cuda.*|cudnn|cudatoolkit.*|nccl|mkl|openblas|blas|graphviz|gcc.*|gxx.*|binutils.*|sysroot.*|gfortran.*|make|cmake|ninja"
    r"|openmpi|mpich|ffmpeg|git|git-lfs|openssl|ca-certificates|zlib|bzip2|xz|sqlite|tk|readline|ncurses|ld_impl.*|openmp_mutex"
    r"|pytorch-cuda|pytorch-mutex|openmp|llvm-openmp|intel-openmp|r-.*|nodejs|perl|java.*|openjdk|curl|wget|rust|go|hdf5|libgcc_mutex)"
)
_TOOLS = ("pip", "setuptools", "wheel", "conda")


class Conda(Struct, frozen=True, kw_only=True):
    """`lines` are requirements as pip writes them; `left_out` what it has no name for."""

    python: str = ""
    lines: tuple[tuple[str, int], ...] = ()
    left_out: tuple[str, ...] = ()


def conda_from(text: str) -> Conda:
    """Total: what is no such file has no lines."""
    python, lines, left_out = "", [], []
    for word, number, is_pip in _listed(text):
        if is_pip:
            lines.append((word, number))
            continue
        name, bound = _name_and_bound(word)
        if name == "python":
            python = _version(bound)
        elif name in _TOOLS:
            continue
        elif _NOT_PYTHON.fullmatch(name):
            left_out.append(name)
        else:  # what cannot be read is said with its line, when it is read as a requirement
            lines.append((_OTHERWISE.get(name, name) + bound if name else word, number))
    return Conda(python=python, lines=tuple(lines), left_out=tuple(left_out))


def _listed(text: str) -> Iterator[tuple[str, int, bool]]:
    """Each item below `dependencies:`, its line, and whether it stands below `pip:`."""
    inside, pip_indent = False, -1
    for number, raw in enumerate(text.splitlines(), 1):
        line = re.sub(r"(^|\s)#.*$", "", raw).rstrip()
        if not line.strip():
            continue
        indent = len(line) - len(line.lstrip())
        item = line.strip()
        if not item.startswith("-"):
            inside, pip_indent = item.rstrip() == "dependencies:", -1
            continue
        word = item[1:].strip().strip("'\"")
        if not inside or not word:
            continue
        if word == "pip:":
            pip_indent = indent
            continue
        if pip_indent >= 0 and indent <= pip_indent:
            pip_indent = -1
        yield word, number, pip_indent >= 0


def _name_and_bound(word: str) -> tuple[str, str]:
    """`conda-forge::numpy=1.24=py311` is `numpy` and `==1.24.*`; so is `numpy[version='1.24.*']`."""
    if told := re.fullmatch(r"(\S+?)\[.*\bversion=(['\"]?)([^'\"\]]+)\2.*\]", word.strip()):
        word = f"{told[1]} {told[3]}"
    match = re.fullmatch(r"(?:[\w-]+(?:/[\w-]+)?::)?([A-Za-z0-9_.-]+?)\s*(?:([<>=!~].*)|\s(.+))?", word.strip())
    if not match:
        return "", ""
    name, bound = match[1].lower(), (match[2] or match[3] or "").strip()
    return name, _bound(bound)


def _bound(text: str) -> str:
    """conda's one `=` means any version that begins like this; what follows a second one is a build's name."""
    exact = re.fullmatch(r"(={0,2})\s*([\w.!+*]+?)(?:(?:=|\s+)[\w.*]+)?", text)
    if not exact:
        return re.sub(r"\s+", "", text)
    version = exact[2].removesuffix(".*")
    if version in ("", "*"):
        return ""
    return f"=={version}" if exact[1] == "==" or version.count(".") >= 2 else f"=={version}.*"


def _version(bound: str) -> str:
    match = re.search(r"3\.\d+", bound)
    return match[0] if match and not bound.startswith(("<", "!")) else ""
