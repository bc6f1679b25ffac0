"""Rules about places, quotas, disks and software."""

from __future__ import annotations

from msgspec.structs import replace

from tests.rules.cases import (
    Trial,
    a100,
    advised,
    asks,
    case,
    disk,
    if_known,
    known,
    of,
    on,
    request,
    runs,
    site,
    size,
    software,
    storage,
    with_gpus,
)
from voyageur.allowance import Quota
from voyageur.rules import Case, Known
from voyageur.site import Medium, Place, Policy, Use

NONE = asks()
HOME = Place(name="home", path="$HOME", jobs=Use.DISCOURAGED)
SCRATCH = Place(name="scratch", path="$SCRATCH", purge_days=60)
STORE = Place(name="store", path="/store", jobs=Use.DISCOURAGED)
LAKE = Place(name="lake", path="/p", jobs=Use.NO)
FULL = Quota(place="scratch", path="/scratch", used=size("20T"), limit=size("20T"), source="lfs quota")
MANY = Quota(place="scratch", path="/scratch", files=1_000_001, file_limit=1_000_000, source="diskusage_report")
FEW = replace(MANY, files=9)
ELSEWHERE = asks(scratch="/other")
FROM_X86 = Known(architecture="x86_64")
ARM = site(software=software(architecture="aarch64"))
AMD = with_gpus(a100(name="mi250"), software=software(gpu_vendor="amd"))
AVX2 = site(software=software(instructions="AVX2, no AVX-512"))


def in_project(judged: Case, root: str) -> Case:
    return replace(judged, plan=replace(judged.plan, project_root=root))


TRIALS = [
    # ── places
    on(
        storage(replace(HOME, jobs=Use.READ_ONLY)),
        "log-folder",
        "read-only for jobs",
        asks(scratch="/home/ada/runs"),
        NONE,
    ),
    on(storage(submit_from="$SCRATCH"), "submit-folder", "from elsewhere", asks(scratch="/home/ada"), NONE),
    on(storage(no_submit_from=("/home",)), "submit-folder", "from home", asks(scratch="/home/ada"), NONE),
    on(storage(LAKE), "unseen-path", "of jobs", runs("./a", "--data=/p/data"), runs("./a", "--data=/e/data")),
    on(storage(HOME), "jobs-in-home", "runs", asks(scratch="/home/ada/runs"), NONE),
    on(storage(HOME), "jobs-in-home", "data", runs("./a", "--data", "~/data"), runs("python", "/home/ada/a.py")),
    on(storage(STORE), "jobs-in-store", "data", runs("./a", "--data=/store/x"), runs("./a", "--data=/storex")),
    # ── quotas
    on(site(), "quota", "bytes", asks(known=known(quotas=(FULL,))), asks(known=known(quotas=(FULL,)), **ELSEWHERE)),
    if_known(NONE, "quota", "files", known(quotas=(MANY,)), known(quotas=(FEW,))),
    on(
        storage(HOME, SCRATCH),
        "quota",
        "of a place by its name",
        asks(known=known(quotas=(replace(MANY, path=""),))),
        asks(known=known(quotas=(replace(MANY, path="", place="home"),))),
    ),
    of(
        asks(known=known(quotas=(MANY,)), **ELSEWHERE),
        "over-quota",
        "too many files",
        storage(refuses_over_quota=True),
        storage(),
    ),
    of(
        asks(known=known(quotas=(replace(MANY, used=size("2T"), limit=size("1T"), files=3),)), **ELSEWHERE),
        "over-quota",
        "too many bytes",
        storage(refuses_over_quota=True),
        storage(),
    ),
    on(
        storage(replace(STORE, shared=True)),
        "shared-quota",
        "an environment",
        asks(venv="/store/env"),
        asks(venv="/home/ada/env"),
    ),
    on(
        storage(SCRATCH),
        "venv-on-scratch",
        "an environment",
        asks(venv="/scratch/ada/env"),
        asks(venv="/home/ada/env"),
    ),
    # ── disks
    on(disk(medium=Medium.NONE), "local-disk", "there is none", runs("./a", "{tmp}"), runs("./a", "{scratch}")),
    of(asks(known=known(staged=size("20G"))), "local-disk", "small", disk(size=size("10G")), disk(size=size("30G"))),
    of(runs("./a", "{tmp}"), "local-disk", "memory", disk(medium=Medium.MEMORY), disk(medium=Medium.DISK)),
    on(
        site(),
        "local-results",
        "written there",
        runs("./a", "--output-dir", "{tmp}/out"),
        runs("./a", "--data", "{tmp}/in"),
    ),
    on(site(), "local-results", "in one word", runs("./a", "--save={tmp}"), runs("./a", "--load={tmp}")),
    Trial("purge", "the project", in_project(case(storage(SCRATCH)), "/scratch/ada/weather"), case(storage(SCRATCH))),
    on(
        storage(no_touch=True),
        "purge",
        "touched",
        runs("bash", "-c", "find . | xargs touch"),
        runs("python", "touch.py"),
    ),
    advised("purge", "told", storage(SCRATCH)),
    on(
        storage(keeps_archive_times=True),
        "tar-touch",
        "old times",
        runs("bash", "-c", "tar -xf a.tar && ./a"),
        runs("bash", "-c", "tar --touch -xf a.tar && ./a"),
    ),
    on(
        site(),
        "container-cache",
        "not set",
        runs("apptainer", "exec", "a.sif", "./a"),
        runs("apptainer", "exec", "a.sif", env__variables={"APPTAINER_CACHEDIR": "/tmp", "APPTAINER_TMPDIR": "/tmp"}),
    ),
    # ── software
    on(
        ARM,
        "architecture",
        "an environment",
        asks(known=FROM_X86, venv="/home/ada/env"),
        asks(known=Known(architecture="arm64"), venv="/home/ada/env"),
    ),
    on(
        ARM,
        "architecture",
        "an image",
        runs("apptainer", "exec", "a.sif", known=FROM_X86),
        runs("./a", known=FROM_X86),
    ),
    on(AMD, "architecture", "a module", asks(gpus=1, env__modules=["cuda/12"]), asks(gpus=1, env__modules=["rocm/6"])),
    on(
        AMD,
        "architecture",
        "a container",
        runs("singularity", "exec", "--nv", "a.sif", gpus=1),
        runs("singularity", "exec", "--rocm", "a.sif", gpus=1),
    ),
    on(
        AVX2,
        "architecture",
        "instructions",
        asks(env__modules=["arch/avx512"]),
        asks(env__modules=["arch/avx2"]),
    ),
    on(site(), "clean-start", "no version", asks(env__modules=["python"]), asks(env__modules=["python/3.11"])),
    on(request(export=Policy.FORBIDDEN), "clean-start", "exported", asks(flags=["--export=HOME"]), NONE),
    on(
        site(software=software(blocked=("StdEnv/2016",), modules=("StdEnv/2023",))),
        "modules",
        "blocked",
        asks(env__modules=["StdEnv/2016.4"]),
        asks(env__modules=["StdEnv/2023"]),
    ),
    if_known(asks(env__modules=["gcc/99"]), "modules", "missing", known(missing_modules=("gcc/99",)), known()),
]
