"""Looks at the image that a run names, before anything is made; and brings one from a registry, once, as one file."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
from pathlib import Path

from voyageur import places
from voyageur.commands import session
from voyageur.containers import ContainerRuntime, Image, image_named, names, runtime_named
from voyageur.containers.image import FOLDER, REGISTRY, SIF, SQUASHFS
from voyageur.containers.model import article
from voyageur.containers.sif import HEAD, Head, head_of, machine_of
from voyageur.errors import ClusterError, SpecError
from voyageur.plan import SeenImage, Surroundings
from voyageur.plan.container import chosen_runtime, refuse_both
from voyageur.runtime.folder import write_atomically
from voyageur.runtime.inherited import STANDARD_PATH
from voyageur.site import Site, Welcome
from voyageur.spec import Spec
from voyageur.spec.home import expand_home
from voyageur.units import Size

STORE = "container-images"  # below scratch: one file for each image, for all projects
_PATIENCE = 20.0


def programs_here() -> dict[str, str]:
    """Of container runtimes, those on this machine's PATH; by their path where a job would not look for them."""
    wanted = {runtime.program for name in names() if (runtime := runtime_named(name)) and not runtime.in_step}
    path = session.environment().get("PATH")
    found = {program: at for program in sorted(wanted) if (at := shutil.which(program, path=path))}
    return {program: program if shutil.which(program, path=STANDARD_PATH) else at for program, at in found.items()}


def see_image(spec: Spec, site: Site, around: Surroundings, scratch: Path, may_bring: bool) -> SeenImage | None:
    """`may_bring`: what is at a registry may be brought now. What a cluster elsewhere has cannot be seen from here."""
    refuse_both(spec)
    if not spec.env.image:
        return None
    path = _found(spec, scratch)
    image = image_named(spec.env.image, is_folder=bool(path and path.is_dir()), is_file=bool(path and path.is_file()))
    if not image.is_path or (path is None and not session.is_here(site)):
        return _by_name(spec, site, around, image, scratch, may_bring)
    if path is None:
        raise _missing(spec, scratch)
    return _at(path, image, site)


# ── a file or a folder ───────────────────────────────────────────────────────────────────────────────────────────────


def _places(spec: Spec, scratch: Path) -> list[Path]:
    """Beside the command, as it was typed; in the project; and where older scripts had their images."""
    said = os.path.expandvars(expand_home(spec.env.image or ""))
    root = spec.project.root
    return list(dict.fromkeys([root / spec.project.start_in / said, root / said, scratch / said]))


def _found(spec: Spec, scratch: Path) -> Path | None:
    if "://" in (spec.env.image or ""):
        return None
    return next((Path(os.path.abspath(path)) for path in _places(spec, scratch) if path.exists()), None)


def _missing(spec: Spec, scratch: Path) -> SpecError:
    looked = [f"looked for: {os.path.normpath(path)}" for path in _places(spec, scratch)]
    return SpecError(
        f"there is no image {spec.env.image}",
        facts=[f"asked for by {spec.source('env.image')}", *looked],
        hint="check the path; an image at a registry is written like `docker://python:3.12`",
    )


def _at(path: Path, image: Image, site: Site) -> SeenImage:
    if path.is_dir():
        architecture = _architecture_of_folder(path)
        note = f"{path} is a folder of many small files, which every start reads; one file starts sooner"
        return _fitting(SeenImage(path=str(path), kind=FOLDER, architecture=architecture, note=note), site)
    if image.kind not in (SIF, SQUASHFS):
        return SeenImage(path=str(path), kind=image.kind)
    try:
        found = path.stat()
        with open(path, "rb") as file:
            head = head_of(file.read(HEAD))
    except OSError as problem:
        raise SpecError(
            f"the image {path} cannot be read", facts=[str(problem.strerror)], hint=f"`ls -l {path}`"
        ) from None
    size, stamp = Size(found.st_size), (found.st_size, found.st_mtime_ns)
    _check_whole(path, image, head, found.st_size)
    assert head
    digest = f"sha256:{_digest(path, stamp)}"
    architecture = head.architecture
    return _fitting(
        SeenImage(path=str(path), kind=head.kind, digest=digest, architecture=architecture, size=size, stamp=stamp),
        site,
    )


def _check_whole(path: Path, image: Image, head: Head | None, size: int) -> None:
    again = "copy it anew, or build it anew"
    if head is None:
        raise SpecError(
            f"{path} is {article(image.kind)} by its name only",
            facts=["it does not begin as a SIF file or a squashfs image does"],
            hint=again,
        )
    if size < head.least:
        raise SpecError(
            f"the image {path} is not whole",
            facts=[f"it says that it has {head.least} bytes, and {size} are there"],
            hint=again,
        )


def _fitting(seen: SeenImage, site: Site) -> SeenImage:
    """On this machine a wrong processor is certain; of a cluster its rules speak."""
    own = os.uname().machine
    if site.engine == "local" and seen.architecture and seen.architecture != own:
        raise SpecError(
            f"the image {seen.path} is for {seen.architecture}, and this machine is {own}",
            hint=f"build it for {own}; with Docker and Podman that is `--platform linux/{_PLATFORMS.get(own, own)}`",
        )
    return seen


_PLATFORMS = {"x86_64": "amd64", "aarch64": "arm64"}


def _architecture_of_folder(path: Path) -> str | None:
    for name in ("usr/bin/env", "bin/busybox", "usr/bin/dash", "bin/sh"):
        file = path / name
        if file.is_file() and not file.is_symlink():
            with open(file, "rb") as program:
                return machine_of(program.read(64))
    return None


def _digest(path: Path, stamp: tuple[int, ...]) -> str:
    """A large file is read once; afterwards its size and its time tell that it is the same."""
    table = places.state_folder(session.environment()) / "images.json"
    known = _read_table(table)
    if (entry := known.get(str(path))) and entry[0] == list(stamp):
        return str(entry[1])
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    known[str(path)] = [list(stamp), digest]
    try:
        table.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(str(table), json.dumps(known).encode())
    except OSError:
        return digest  # it is read again the next time
    return digest


def _read_table(path: Path) -> dict[str, list[object]]:
    try:
        return dict(json.loads(path.read_text()))
    except (OSError, ValueError):
        return {}


# ── a name ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _by_name(spec: Spec, site: Site, around: Surroundings, image: Image, scratch: Path, may_bring: bool) -> SeenImage:
    chosen = chosen_runtime(spec, site, image, around.container_programs)
    runtime, here = chosen.runtime, session.is_here(site)
    if image.kind == REGISTRY and image.kind in runtime.takes and runtime.pull(chosen.program, image, ""):
        store = Store(Path(around.scratch) / STORE, runtime, chosen.program, site)
        return store.image(image, may_bring and here)
    if image.is_path:
        return SeenImage(path=os.path.normpath(_places(spec, scratch)[-1]), kind=image.kind)
    if here and image.kind in runtime.takes:
        _check_present(runtime, chosen.program, image)
    fetch = "" if here else runtime.fetch(chosen.program, image)
    note = f"{site.name} must have the image {image.said}: `{fetch}` there brings it" if fetch else ""
    return SeenImage(path=image.said, kind=image.kind, digest=image.digest, note=note)


def _check_present(runtime: ContainerRuntime, program: str, image: Image) -> None:
    """Where the runtime keeps images itself and can be asked here. No answer is no error."""
    words = runtime.present(program, image)
    path = session.environment().get("PATH")
    if not words or not shutil.which(words[0], path=path):
        return
    try:
        answer = subprocess.run(
            words, capture_output=True, timeout=_PATIENCE, check=False, env=session.environment(), text=True
        )
    except (OSError, subprocess.TimeoutExpired):
        return
    if answer.returncode:
        raise SpecError(
            f"{runtime.name} has no image {image.said} here",
            facts=[f"`{' '.join(words)}` says no"],
            hint=f"`{runtime.fetch(program, image)}` brings it",
        )


class Store:
    """Images of registries as files on scratch, each under the checksum of its content."""

    def __init__(self, folder: Path, runtime: ContainerRuntime, program: str, site: Site) -> None:
        self.folder = folder
        self.runtime = runtime
        self.program = program
        self.site = site

    def image(self, image: Image, may_bring: bool) -> SeenImage:
        if entry := self._entry(image):
            return entry
        if not may_bring:
            note = f"{image.said} is not here yet: `voy submit` brings it to {self.folder}, once, as one file"
            return SeenImage(path=str(self.folder / f"{image.slug}{self._ending}"), kind=self._kind, note=note)
        self._check_allowed(image)
        self._bring(image)
        found = self._entry(image)
        assert found
        return found

    @property
    def _kind(self) -> str:
        return SIF if SIF in self.runtime.takes else SQUASHFS

    @property
    def _ending(self) -> str:
        return ".sif" if self._kind == SIF else ".sqsh"

    @property
    def _caches(self) -> dict[str, str]:
        return self.runtime.caches(str(self.folder / "cache"))

    def _note(self, image: Image) -> Path:
        return self.folder / f"{image.slug}{self._ending}.json"

    def _entry(self, image: Image) -> SeenImage | None:
        try:
            known = json.loads(self._note(image).read_text())
            path = self.folder / str(known["file"])
            found = path.stat()
        except (OSError, ValueError, KeyError):
            return None
        stamp = (found.st_size, found.st_mtime_ns)
        with open(path, "rb") as file:
            head = head_of(file.read(HEAD))
        if head is None or found.st_size < head.least:
            return None
        return SeenImage(
            path=str(path),
            kind=head.kind,
            digest=f"sha256:{known['sha256']}",
            architecture=head.architecture,
            size=Size(found.st_size),
            stamp=stamp,
            note=f"{image.said} as it was on {known['brought']}; remove {self._note(image)} to have it brought anew",
        )

    def _check_allowed(self, image: Image) -> None:
        site = self.site
        if site.conduct.login_builds is not Welcome.FORBIDDEN:
            return
        target = f"{image.slug}{self._ending}"
        words = " ".join(self.runtime.pull(self.program, image, target))
        raise SpecError(
            f"{site.name} wants no images built on its login nodes, and {image.said} has to be made into one file",
            facts=[site.conduct.source] if site.conduct.source else [],
            hint=f"on your own machine `{words}`, copy {target} to the cluster, and name it with `-s`",
        )

    def _bring(self, image: Image) -> None:
        from datetime import date

        from voyageur.show.output import aside

        self.folder.mkdir(parents=True, exist_ok=True)
        (self.folder / "cache").mkdir(exist_ok=True)
        partial = self.folder / f".{image.slug}.{os.getpid()}{self._ending}"
        aside(f"bringing {image.said}; this is done once")
        try:
            self._run(self.runtime.pull(self.program, image, str(partial)), image)
            with open(partial, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            name = f"{digest}{self._ending}"
            os.replace(partial, self.folder / name)
        finally:
            partial.unlink(missing_ok=True)
            shutil.rmtree(self.folder / "cache", ignore_errors=True)
        note = {"image": image.said, "file": name, "sha256": digest, "brought": date.today().isoformat()}
        write_atomically(str(self._note(image)), json.dumps(note).encode())

    def _with_module(self, words: tuple[str, ...]) -> tuple[str, ...]:
        """Where the site's module brings the program, a login shell loads it."""
        module = self.site.software.container_module
        if not module or shutil.which(words[0], path=session.environment().get("PATH")):
            return words
        return ("bash", "-lc", f"module load {shlex.quote(module)} && exec {shlex.join(words)}")

    def _run(self, words: tuple[str, ...], image: Image) -> None:
        words = self._with_module(words)
        try:
            answer = subprocess.run(
                words, capture_output=True, text=True, check=False, env={**session.environment(), **self._caches}
            )
        except OSError as problem:
            raise SpecError(
                f"{words[0]} cannot be started: {problem.strerror}",
                facts=[f"{image.said} has to be made into one file"],
                hint="load the module that brings it, or name its path with `runtime` under [env]",
            ) from None
        if answer.returncode:
            raise ClusterError(
                f"{image.said} cannot be brought",
                facts=[" ".join(words), *answer.stderr.strip().splitlines()[-6:]],
                hint="check its name and that this machine reaches the registry; `-s` takes a file that is there, too",
            )
