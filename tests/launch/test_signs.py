"""How a program wants to be started, read from its text."""

from pathlib import Path

import pytest

from voyageur.launch.signs import recognise, signs_in
from voyageur.project.recognise import recognise_program

PROGRAMS = {
    "import torch.distributed as dist\n\n\ndist.init_process_group('nccl')\n": (
        "torchrun",
        "t.py:4 calls torch.distributed.init_process_group",
    ),
    "from torch import distributed\ndistributed.init_process_group()\n": (
        "torchrun",
        "t.py:2 calls torch.distributed.init_process_group",
    ),
    "import os, torch\nr = os.environ['SLURM_PROCID']\ntorch.distributed.init_process_group('nccl')\n": (
        "per-rank",
        "t.py:3 calls torch.distributed.init_process_group and reads SLURM_PROCID",
    ),
    "import torch.multiprocessing as mp\nmp.spawn(print)\n": ("per-node", "t.py:2 calls torch.multiprocessing.spawn"),
    "from pytorch_lightning import Trainer\nTrainer(gpus=2)\n": (
        "lightning",
        "t.py:2 calls pytorch_lightning.Trainer",
    ),
    "from accelerate import Accelerator\na = Accelerator()\n": ("accelerate", "t.py:2 calls accelerate.Accelerator"),
    "from transformers import Trainer\nTrainer()\n": ("torchrun", "t.py:2 calls transformers.Trainer"),
    "from trl import GRPOTrainer\nGRPOTrainer()\n": ("torchrun", "t.py:2 calls trl.GRPOTrainer"),
    "import horovod.torch as hvd\nhvd.init()\n": ("horovod", "t.py:2 calls horovod.torch.init"),
    "import tensorflow as tf\ns = tf.distribute.MultiWorkerMirroredStrategy()\n": (
        "tensorflow",
        "t.py:2 calls tensorflow.distribute.MultiWorkerMirroredStrategy",
    ),
    "import jax\njax.distributed.initialize()\n": ("jax", "t.py:2 calls jax.distributed.initialize"),
    "from mpi4py import MPI\n": ("mpi", "t.py:1 imports mpi4py"),
    "import ray\nray.init()\n": ("ray", "t.py:2 calls ray.init"),
    "from dask.distributed import Client\nClient()\n": ("dask", "t.py:2 calls dask.distributed.Client"),
    "from pyspark.sql import SparkSession\ns = SparkSession.builder.appName('x').getOrCreate()\n": (
        "spark",
        "t.py:2 calls pyspark.sql.SparkSession.builder.appName.getOrCreate",
    ),
}


@pytest.mark.parametrize("text", PROGRAMS)
def test_a_program_shows_its_style_and_the_line(text: str) -> None:
    found = recognise(signs_in("t.py", text))
    assert found is not None
    assert (found.style, found.because) == PROGRAMS[text]


@pytest.mark.parametrize(
    "text",
    ["import torch\nprint(torch.ones(1))\n", "def init_process_group(): pass\ninit_process_group()\n", "broken(", "",
     "from dask.distributed import Client\nClient(n_workers=4)\n",
     "from dask.distributed import Client, LocalCluster\nClient(LocalCluster())\n",
     "# torch.distributed.init_process_group\nx = 'ray.init()'\n"],
)  # fmt: skip
def test_other_programs_show_none(text: str) -> None:
    assert recognise(signs_in("t.py", text)) is None


@pytest.mark.parametrize("option", ["devices", "gpus"])
def test_what_a_trainer_is_told_is_read(option: str) -> None:
    text = f"from pytorch_lightning import Trainer\nTrainer({option}=2, num_nodes=3)\n"
    (sign,) = signs_in("t.py", text)
    assert (sign.devices, sign.nodes) == (2, 3)


def test_the_more_special_library_wins() -> None:
    text = "import lightning as L, torch.distributed as dist\ndist.init_process_group()\nL.Trainer()\n"
    found = recognise(signs_in("t.py", text))
    assert found is not None and found.style == "lightning"


@pytest.mark.parametrize(
    "command",
    [("python", "src/train.py"), ("python3", "-u", "src/train.py", "--x"), ("torchrun", "--nnodes=2", "src/train.py")],
)
def test_modules_that_the_program_imports_are_read_too(tmp_path: Path, command: tuple[str, ...]) -> None:
    files = {
        "src/train.py": "from lib.setup import begin\nbegin()\n",
        "src/lib/__init__.py": "",
        "src/lib/setup.py": "from . import low\n",
        "src/lib/low.py": "import torch.distributed as d\ndef f(): d.init_process_group()\n",
        "other.py": "import ray\nray.init()\n",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    found = recognise_program(tmp_path, list(files), ".", command)
    assert found is not None
    assert found.because == "src/lib/low.py:2 calls torch.distributed.init_process_group"


def test_what_is_no_program_of_the_project_is_not_read(tmp_path: Path) -> None:
    assert recognise_program(tmp_path, [], ".", ("python", "-c", "import ray; ray.init()")) is None
    assert recognise_program(tmp_path, ["a.py"], ".", ("./train",)) is None
