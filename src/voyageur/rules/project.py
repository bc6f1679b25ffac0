"""The rules about a project's own files. `level` is the gravest one; `at` weighs a rule for a site."""

from __future__ import annotations

from msgspec.structs import replace

from voyageur.findings import Level
from voyageur.rules.model import Rule


def at(level: Level, rule: Rule, because: str | None = None) -> Rule:
    """The same rule, weighed for this site, or for this place of a project."""
    return replace(rule, level=level, because=because or rule.because)


# ── windows and questions: nobody sits in front of a job ─────────────────────────────────────────────────────────────

GRAPHICAL_DISPLAY = Rule(
    id="graphical-display",
    numbers=(),
    level=Level.ERROR,
    because="a compute node has no display",
    fix="write pictures into files instead",
    source="porting guides of users of UBC, Alliance and PLAI clusters; matplotlib documentation: Backends",
)
ASKS_FOR_INPUT = Rule(
    id="asks-for-input",
    numbers=(),
    level=Level.ERROR,
    because="nobody answers in a job: its standard input is empty, so the question ends in EOFError",
    fix="take the answer from an option or a variable",
    source="Slurm documentation: sbatch, --input",
)

# ── paths and data ───────────────────────────────────────────────────────────────────────────────────────────────────

LOCAL_PATH = Rule(
    id="local-path",
    numbers=(),
    level=Level.ERROR,
    because="the job finds only what travels with the code, and what lies on the cluster",
    fix="take the path from an option, and give it as {scratch}/... in the command",
    source="porting guides of users of UBC, Alliance and PLAI clusters",
)
WRITES_TO_HOME = Rule(
    id="writes-to-home",
    numbers=(33,),
    level=Level.ERROR,
    because="home folders of clusters are small, slow, and not made for the output of jobs",
    fix="write below {checkpoints} or {scratch}",
    source="Alliance documentation: Storage and file management; TACC documentation: Good conduct",
)
MANY_SMALL_FILES = Rule(
    id="many-small-files",
    numbers=(34, 37),
    level=Level.WARNING,
    because="parallel file systems are slow with small files, and quotas count them",
    fix="pack them into one archive, and unpack that in {tmp}",
    source="Alliance documentation: Handling large collections of files; CSCS documentation: Storage",
)
DOWNLOADS_AT_RUN_TIME = Rule(
    id="downloads-at-run-time",
    numbers=(47,),
    level=Level.ERROR,
    because="compute nodes do not reach the internet",
    fix="download it once on a login node, and read it from there",
    source="Alliance documentation: Weights & Biases, Narval; CINECA documentation: Leonardo; JSC documentation",
)

# ── time ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

NO_CHECKPOINT = Rule(
    id="no-checkpoint",
    numbers=(39, 58),
    level=Level.WARNING,
    because="what a job has not written when its time is up, or when its node fails, is lost",
    fix="save the state now and then below {checkpoints}, and go on from it at the start",
    source="Alliance documentation: Points de contrôle / Checkpoints; Mila documentation: Checkpointing",
)
NO_RESUME = Rule(
    id="no-resume",
    numbers=(39, 58),
    level=Level.WARNING,
    because="a job that comes back after a preemption or a time limit would begin again from nothing",
    fix="at the start, load the newest file in {checkpoints} if there is one",
    source="Alliance documentation: Points de contrôle / Checkpoints; Mila documentation: Checkpointing",
)

# ── CPUs and GPUs ────────────────────────────────────────────────────────────────────────────────────────────────────

TOO_MANY_WORKERS = Rule(
    id="too-many-workers",
    numbers=(),
    level=Level.WARNING,
    because="workers that share a core slow each other down, and each has its own copy in memory",
    fix="start as many as the job has CPUs: num_workers=len(os.sched_getaffinity(0))",
    source="PyTorch documentation: torch.utils.data; Alliance documentation: AI and machine learning",
)
NO_WORKERS = Rule(
    id="no-workers",
    numbers=(),
    level=Level.HINT,
    because="the GPU waits while its one process reads and prepares each batch",
    fix="num_workers=len(os.sched_getaffinity(0))",
    source="PyTorch documentation: torch.utils.data",
)
BATCH_OF_ONE = Rule(
    id="batch-of-one",
    numbers=(),
    level=Level.HINT,
    because="the GPU gets one sample at a time, and most of it has nothing to do",
    fix="batch_size=32, or as many as its memory holds; the learning rate may have to grow with it",
    source="PyTorch documentation: torch.utils.data",
)
SLOW_PRECISION = Rule(
    id="slow-precision",
    numbers=(),
    level=Level.HINT,
    because="PyTorch multiplies matrices in full float32, which leaves the GPU's tensor cores unused; "
    "TensorFloat-32 is several times faster, and exact to three digits",
    fix='torch.set_float32_matmul_precision("high"), or torch.autocast for half precision',
    source="PyTorch documentation: CUDA semantics, TensorFloat-32",
)
CORES_OF_THE_NODE = Rule(
    id="cores-of-the-node",
    numbers=(),
    level=Level.HINT,
    because="it counts the cores of the whole node, not those of the job",
    fix="len(os.sched_getaffinity(0))",
    source="Python documentation: os.cpu_count",
)
SINGLE_PROCESS_LAUNCH = Rule(
    id="single-process-launch",
    numbers=(22,),
    level=Level.WARNING,
    because="GPUs that no process uses are paid for all the same",
    fix="ask for one GPU with `-g 1`, or start the program with torchrun and wrap its model in DistributedDataParallel",
    source="Alliance documentation: Tutoriel Apprentissage machine",
)
NO_GPU_LIBRARY = Rule(
    id="no-gpu-library",
    numbers=(22,),
    level=Level.WARNING,
    because="GPUs that no process uses are paid for all the same",
    fix="ask for none with `-g 0`",
    source="Alliance documentation: Using GPUs with Slurm",
)

# ── software ─────────────────────────────────────────────────────────────────────────────────────────────────────────

INSTALLS_AT_RUN_TIME = Rule(
    id="installs-at-run-time",
    numbers=(46, 47),
    level=Level.ERROR,
    because="every start installs anew, several at once get in each other's way, and nodes may not reach the internet",
    fix="install once into a virtual environment before you submit, and name it in [env] venv",
    source="Alliance documentation: Python; LUMI documentation: Python",
)
PIP_WITHOUT_NO_INDEX = Rule(
    id="pip-without-no-index",
    numbers=(46,),
    level=Level.ERROR,
    because="the site's own wheels are built for its processors; others may be slower, or not work at all",
    fix="pip install --no-index ...",
    source="Alliance documentation: Python",
)
CONDA_DISCOURAGED = Rule(
    id="conda-discouraged",
    numbers=(45,),
    level=Level.ERROR,
    because="a conda environment is a hundred thousand small files, and brings its own builds of what the site has",
    fix="make a virtual environment with the site's Python module, or use a container",
    source="Alliance documentation: Anaconda; LUMI documentation: Python",
)
MISSING_WHEELS = Rule(
    id="missing-wheels",
    numbers=(46,),
    level=Level.WARNING,
    because="the site's wheelhouse does not have it, and nodes without internet cannot fetch it",
    fix="download its wheel on a login node (`pip download --no-deps NAME`), or take a version that is there",
    source="Alliance documentation: Available Python wheels",
)

# ── files that break ─────────────────────────────────────────────────────────────────────────────────────────────────

DOS_LINE_ENDS = Rule(
    id="dos-line-ends",
    numbers=(50,),
    level=Level.ERROR,
    because="Linux reads the carriage return as a part of the line: commands and interpreters are not found",
    fix="sed -i 's/\\r$//' FILE",
    source="Alliance documentation: Running jobs, Frequently asked questions",
)
HIDDEN_CHARACTERS = Rule(
    id="hidden-characters",
    numbers=(50,),
    level=Level.ERROR,
    because="it looks like nothing or like a space, and is neither: copied from a web page or a chat, most often",
    fix="type that line again by hand",
    source="Alliance documentation: Frequently asked questions",
)
BROKEN_SYNTAX = Rule(
    id="broken-syntax",
    numbers=(),
    level=Level.ERROR,
    because="Python cannot read the file, so the job dies as soon as it comes to it",
    fix="mend that line; `python -m py_compile FILE` shows whether it is right",
    source="Python documentation: SyntaxError",
)
PUBLISHED_ACCOUNT = Rule(
    id="published-account",
    numbers=(62,),
    level=Level.WARNING,
    because="git publishes it together with the code, and for others it is the wrong one",
    fix="take the line out; say it with `-a ACCOUNT`, VOY_ACCOUNT or your own file, ~/.config/voyageur/config.toml",
    source="CINECA documentation: course material",
)
SUBMITS_FROM_THE_JOB = Rule(
    id="submits-from-the-job",
    numbers=(29,),
    level=Level.ERROR,
    because="compute nodes of this site cannot submit jobs",
    fix="submit from the login node, one run after the other",
    source="Alliance documentation: Trillium quickstart",
)
NOT_LOOKED_THROUGH = Rule(
    id="not-looked-through",
    numbers=(),
    level=Level.HINT,
    because="what is in it is not known",
    fix="look at it yourself",
    source="",
)

PROJECT_RULES = (
    GRAPHICAL_DISPLAY,
    ASKS_FOR_INPUT,
    LOCAL_PATH,
    WRITES_TO_HOME,
    MANY_SMALL_FILES,
    DOWNLOADS_AT_RUN_TIME,
    NO_CHECKPOINT,
    NO_RESUME,
    TOO_MANY_WORKERS,
    NO_WORKERS,
    BATCH_OF_ONE,
    SLOW_PRECISION,
    CORES_OF_THE_NODE,
    SINGLE_PROCESS_LAUNCH,
    NO_GPU_LIBRARY,
    INSTALLS_AT_RUN_TIME,
    PIP_WITHOUT_NO_INDEX,
    CONDA_DISCOURAGED,
    MISSING_WHEELS,
    DOS_LINE_ENDS,
    HIDDEN_CHARACTERS,
    BROKEN_SYNTAX,
    PUBLISHED_ACCOUNT,
    SUBMITS_FROM_THE_JOB,
    NOT_LOOKED_THROUGH,
)
