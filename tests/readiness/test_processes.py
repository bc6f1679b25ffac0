"""Workers, cores, GPUs, checkpoints: what the program does against what is asked for."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tests.plan.wishes import CLUSTER
from tests.readiness.projects import STRICT, brief, findings, program
from voyageur.site import Gpu, Partition, Queues
from voyageur.units import Duration, Size

V100 = Gpu(name="v100", per_node=4, cpus_each=6)
LOADER = "from torch.utils.data import DataLoader\nDataLoader(x, num_workers={})\n"


@pytest.mark.parametrize(("count", "expected"), [(16, True), (9, True), (8, False), (4, False), (0, False)])
def test_more_workers_than_cpus(count: int, expected: bool, tmp_path: Path) -> None:
    found = program(tmp_path, LOADER.format(count), cpus=8)
    assert found == (["warning train.py:2 too-many-workers"] if expected else [])


def test_workers_as_an_option(tmp_path: Path) -> None:
    text = (
        "import argparse\nfrom torch.utils.data import DataLoader\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--num-workers', type=int, default=16)\nargs = parser.parse_args()\n"
        "DataLoader(x, num_workers=args.num_workers)\n"
    )
    assert program(tmp_path, text, cpus=8) == ["warning train.py:6 too-many-workers"]
    assert program(tmp_path, text, cpus=8, command="python train.py --num-workers 8") == []
    assert program(tmp_path, text, cpus=16, command="python train.py --num-workers=32") == [
        "warning train.py:6 too-many-workers"
    ]


def test_a_launchers_processes_share_the_cpus(tmp_path: Path) -> None:
    asked = {"gpus": 4, "cpus": 24, "launch__with": "per-node"}
    command = "torchrun --nproc_per_node 4 train.py"
    assert program(tmp_path, LOADER.format(6), command=command, **asked) == []
    assert program(tmp_path, LOADER.format(7), command=command, **asked) == ["warning train.py:2 too-many-workers"]


@pytest.mark.parametrize("arguments", ["x", "x, num_workers=0", "x, batch_size=3"])
def test_a_gpu_that_waits_for_one_process(arguments: str, tmp_path: Path) -> None:
    text = f"from torch.utils.data import DataLoader\nDataLoader({arguments})\n"
    assert program(tmp_path, text, gpus=1) == ["hint train.py:2 no-workers"]
    assert program(tmp_path, text) == []
    assert program(tmp_path, text, gpus=1, cpus=2) == []


def test_a_loader_of_the_projects_own_is_its_own_affair(tmp_path: Path) -> None:
    assert program(tmp_path, "import torch\nfrom mine import DataLoader\nDataLoader(x, num_workers=99)\n", gpus=1) == []


@pytest.mark.parametrize("arguments", ["x, **options", "x, num_workers=len(y)", "x, 1, False, None, None, 4"])
def test_workers_that_cannot_be_told(arguments: str, tmp_path: Path) -> None:
    assert program(tmp_path, f"from torch.utils.data import DataLoader\nDataLoader({arguments})\n", gpus=1) == []


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.cpu_count()",
        "import multiprocessing as m\nm.cpu_count()",
        "from multiprocessing import Pool\nPool()",
        "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor()",
    ],
)
def test_cores_of_the_node(text: str, tmp_path: Path) -> None:
    assert program(tmp_path, text) == ["hint train.py:2 cores-of-the-node"]


@pytest.mark.parametrize(
    "text",
    [
        "import os\nlen(os.sched_getaffinity(0)) or os.cpu_count()",
        "from multiprocessing import Pool\nPool(4)",
        "from concurrent.futures import ProcessPoolExecutor\nProcessPoolExecutor(max_workers=4)",
        "from concurrent.futures import ThreadPoolExecutor\nThreadPoolExecutor()",
        "class Pool: pass\nPool()",
    ],
)
def test_cores_that_are_counted_well(text: str, tmp_path: Path) -> None:
    assert program(tmp_path, text) == []


# ── GPUs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_several_gpus_and_a_program_that_uses_one(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, {"train.py": "import torch\n"}, gpus=4)
    assert brief((found,)) == ["warning train.py single-process-launch"]
    assert found.what == "4 GPUs are asked for, and train.py uses one"
    assert program(tmp_path, "import torch\n", gpus=1) == []


def test_copies_that_do_not_know_of_each_other(tmp_path: Path) -> None:
    (found,) = findings(tmp_path, {"train.py": "import torch\n"}, gpus=4, launch__with="per-rank")
    assert found.what == "4 copies of train.py would each do the same work"


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.nn.DataParallel(x)",
        "import torch\nfrom torch import nn\nnn.DataParallel(x)",
        "import lightning as L\nL.Trainer(devices=4)",
        "import tensorflow as tf\ntf.distribute.MirroredStrategy()",
        "import jax",
        "import torch.multiprocessing as mp\nmp.spawn(f)",
        "from transformers import Trainer\nTrainer()",
        "import torch\nfor i in range(torch.cuda.device_count()): pass",
        "import torch, subprocess\nsubprocess.Popen(commands[0])",
    ],
)
def test_programs_that_use_several(text: str, tmp_path: Path) -> None:
    assert "single-process-launch" not in " ".join(program(tmp_path, text, gpus=4))


KNOW_RANKS = [
    "import torch\ntorch.distributed.init_process_group()",
    "import torch.distributed as dist",
    "from torch.nn.parallel import DistributedDataParallel as DDP",
    "import torch\nfrom accelerate import Accelerator",
    "import horovod.torch as hvd, torch",
    "import deepspeed, torch",
    "import os, torch\nos.environ['SLURM_PROCID']",
    "import os, torch\nos.environ.get('LOCAL_RANK')",
]


@pytest.mark.parametrize("text", KNOW_RANKS)
def test_programs_that_want_one_process_for_each_gpu(text: str, tmp_path: Path) -> None:
    (found,) = findings(tmp_path, {"train.py": text}, gpus=4)
    assert brief((found,)) == ["warning train.py single-process-launch"]
    assert "`torchrun --nproc_per_node 4 train.py`" in found.fix
    assert program(tmp_path, text, gpus=4, launch__with="per-rank") == []
    assert program(tmp_path, text, gpus=4, command="torchrun --nproc_per_node 4 train.py") == []


@pytest.mark.parametrize("command", ["torchrun train.py", "python -m torch.distributed.run train.py", "bash run.sh"])
def test_launchers_that_use_several(command: str, tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {"train.py": "import torch\n", "run.sh": "#!/bin/bash\ntorchrun train.py\n"}
    assert brief(findings(tmp_path, files, command=command, gpus=4)) == []


def test_an_unknown_library_may_do_it(tmp_path: Path) -> None:
    assert program(tmp_path, "import torch, wonder\n", gpus=4) == ["hint train.py single-process-launch"]


def test_gpus_for_a_program_that_cannot_use_them(tmp_path: Path) -> None:
    assert program(tmp_path, "import numpy\n", gpus=1) == ["warning train.py no-gpu-library"]
    assert program(tmp_path, "import wonder\n", gpus=1) == []
    assert program(tmp_path, "import ctypes\n", gpus=1) == []
    assert program(tmp_path, "import mine\n", gpus=1) == []
    files: dict[str, str | bytes] = {"train.py": "import mine\n", "mine.py": "import torch\n"}
    assert brief(findings(tmp_path, files, gpus=1)) == []


# ── checkpoints ──────────────────────────────────────────────────────────────────────────────────────────────────────

LONG = "12h"


def test_a_long_run_that_saves_nothing(tmp_path: Path) -> None:
    text = "import torch\nfor epoch in range(100): print(epoch)\n"
    (found,) = findings(tmp_path, {"train.py": text}, time=LONG)
    assert brief((found,)) == ["warning train.py no-checkpoint"]
    assert found.what == "train.py saves nothing, and it asks for 12h"
    assert program(tmp_path, text, time="3h") == []


def test_pictures_of_a_training_are_not_its_model(tmp_path: Path) -> None:
    text = "import torch, torchvision\nloss.backward()\ntorchvision.utils.save_image(x, 'a.png')\n"
    (found,) = findings(tmp_path, {"train.py": text}, time=LONG)
    assert found.what == "train.py trains and saves no model, and it asks for 12h"
    assert program(tmp_path, text + "open('model', 'wb')\n", time=LONG) == []


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.save(m, 'x')",
        "import numpy as np\nnp.savez('x')\nopen('y')",
        "import pickle\npickle.dump(1, f)",
        "import joblib\njoblib.dump(1, 'f')",
        "import keras\nkeras.callbacks.ModelCheckpoint('x')",
        "import lightning\nlightning.Trainer()",
    ],
)
def test_a_long_run_that_saves_and_never_loads(text: str, tmp_path: Path) -> None:
    assert program(tmp_path, text, time=LONG) == ["warning train.py:2 no-resume"]


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.save(m, 'x')\nm.load_state_dict(torch.load('x'))",
        "import torch\ntorch.save(m, 'x')\ntrainer.fit(ckpt_path='last')",
        "from transformers import Trainer\nTrainer().train(resume_from_checkpoint=True)",
        "import argparse, torch\nargparse.ArgumentParser().add_argument('--resume')\ntorch.save(m, 'x')",
        "import numpy as np\nnp.save('x', 1)\nnp.load('x')",
        "import wonder\nwonder.run()",
        "open('result.txt', 'w').write('1')",
        "from pathlib import Path\nPath('x').write_text('1')",
        "import pandas\npandas.DataFrame().to_csv('x')",
        "import subprocess\nsubprocess.run(words)",
    ],
)
def test_runs_that_are_safe_or_cannot_be_told(text: str, tmp_path: Path) -> None:
    assert program(tmp_path, text, time=LONG) == []


def test_what_numpy_loads_was_not_saved_by_torch(tmp_path: Path) -> None:
    text = "import torch, numpy\nx = numpy.load('data.npy')\ntorch.save(x, 'x')\n"
    assert program(tmp_path, text, time=LONG) == ["warning train.py:3 no-resume"]


def test_where_jobs_are_stopped_for_others_even_short_ones_should_save(tmp_path: Path) -> None:
    partition = Partition(
        name="spare", default=True, preemptible=True, time_limit=Duration.parse("1d"), nodes=1, cpus=8,
        memory=Size.parse("64G"),
    )  # fmt: skip
    site = replace(CLUSTER, queues=Queues(partitions=(partition,)))
    (found,) = findings(tmp_path, {"train.py": "print(1)\n"}, site=site, time="1h")
    assert found.what == "train.py saves nothing, and jobs in spare may be stopped for others at any time"
    assert program(tmp_path, "print(1)\n", site=site, time="20m") == []


def test_without_tiers_three_hours_are_short(tmp_path: Path) -> None:
    assert program(tmp_path, "print(1)\n", site=CLUSTER, time="3h") == []
    assert program(tmp_path, "print(1)\n", site=CLUSTER, time="4h") == ["warning train.py no-checkpoint"]
    assert STRICT.times.tiers


# ── how well a GPU is used ───────────────────────────────────────────────────────────────────────────────────────────

TRAINING = "import torch\nfrom torch.utils.data import DataLoader\n{}\nfor x in DataLoader({}): f(x).backward()\n"
LOADED = "data, 32, num_workers=4"


def hints(tmp_path: Path, setting: str = "", loader: str = LOADED, **asked: Any) -> list[str]:
    found = findings(tmp_path, {"train.py": TRAINING.format(setting, loader)}, gpus=1, **asked)
    return [finding.rule for finding in found if finding.rule in ("batch-of-one", "slow-precision")]


def test_a_batch_of_one_leaves_the_gpu_idle(tmp_path: Path) -> None:
    half = "model.half()"
    assert hints(tmp_path, half, "data, num_workers=4") == ["batch-of-one"]
    for loader in (LOADED, "data, batch_size=options.size", "data, batch_sampler=mine", "data, **options"):
        assert hints(tmp_path, half, loader) == []


@pytest.mark.parametrize(
    "setting",
    [
        'torch.set_float32_matmul_precision("high")',
        "torch.backends.cuda.matmul.allow_tf32 = True",
        'scaler = torch.amp.GradScaler("cuda")',
        "model.bfloat16()",
        "trainer = Trainer(bf16=True)",
    ],
)
def test_who_has_chosen_a_precision_hears_nothing_of_tf32(tmp_path: Path, setting: str) -> None:
    assert hints(tmp_path) == ["slow-precision"]
    assert hints(tmp_path, setting) == []


def test_gpus_without_tf32_and_variables_of_the_run_count(tmp_path: Path) -> None:
    old = replace(CLUSTER, queues=Queues(partitions=(replace(CLUSTER.partitions[1], gpus=(V100,)),)))
    assert hints(tmp_path, site=old) == []
    assert hints(tmp_path, env__variables={"NVIDIA_TF32_OVERRIDE": "1"}) == []


# ── ranks that the plan starts ───────────────────────────────────────────────────────────────────────────────────────

RANKED = f"import torch\nimport torch.distributed as dist\ndist.init_process_group('nccl')\n{LOADER}"


def test_ranks_that_voyageur_starts_share_the_cpus_and_use_all_gpus(tmp_path: Path) -> None:
    asked = {"gpus": 4, "cpus": 24, "launch__with": "torchrun"}
    assert program(tmp_path, RANKED.format(6), **asked) == []
    assert program(tmp_path, RANKED.format(7), **asked) == ["warning train.py:5 too-many-workers"]


@pytest.mark.parametrize(
    ("style", "fix"), [("torchrun", "num_workers=6"), ("per-rank", "num_workers=len(os.sched_getaffinity(0))")]
)
def test_the_fix_counts_the_cores_of_a_process_and_not_those_of_its_launcher(
    style: str, fix: str, tmp_path: Path
) -> None:
    asked: dict[str, Any] = {"gpus": 4, "cpus": 24, "launch__with": style}
    (found,) = findings(tmp_path, {"train.py": RANKED.format(7)}, **asked)
    assert found.fix and found.fix.endswith(fix)
