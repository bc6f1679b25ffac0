"""Downloads and installations at run time: what they are worth depends on the site."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.plan.wishes import MACHINE
from tests.readiness.projects import OPEN, PROXY, STRICT, UNTOLD, brief, findings, program
from voyageur.site import Welcome
from voyageur.site.facts import Software

DOWNLOADS = [
    "from torchvision import datasets\ndatasets.MNIST('d', download=True)",
    "import torchvision.models as m\nm.resnet18(weights='DEFAULT')",
    "from torchvision.models import resnet18, ResNet18_Weights\nresnet18(weights=ResNet18_Weights.DEFAULT)",
    "import timm\ntimm.create_model('vit', pretrained=True)",
    "import torch\ntorch.hub.load('a/b', 'c')",
    "from transformers import AutoModel\nAutoModel.from_pretrained('bert-base')",
    "import datasets\ndatasets.load_dataset('squad')",
    "from huggingface_hub import snapshot_download as get\nget('a/b')",
    "import huggingface_hub as hub\nhub.hf_hub_download('a/b', 'c')",
    "import tensorflow as tf\ntf.keras.datasets.mnist.load_data()",
    "from tensorflow import keras\nkeras.applications.ResNet50()",
    "from sklearn.datasets import fetch_openml\nfetch_openml('mnist')",
    "import nltk\nnltk.download('punkt')",
    "import spacy.cli\nspacy.cli.download('en')",
    "import gdown\ngdown.download('x', 'y')",
    "import os\nos.system('wget -q https://example.org/x')",
    "import subprocess\nsubprocess.run(['curl', '-O', 'https://example.org/x'])",
    "import subprocess\nsubprocess.run('cd x && git clone https://example.org/x', shell=True)",
    "from urllib.request import urlretrieve\nurlretrieve('https://example.org/x', 'x')",
    "import requests\nrequests.get('https://example.org/x')",
    "import pandas as pd\npd.read_csv('https://example.org/x.csv')",
    "import wandb\nwandb.init(project='x')",
    "from comet_ml import Experiment\nExperiment()",
]


@pytest.mark.parametrize("text", DOWNLOADS)
def test_downloads_are_errors_where_nodes_have_no_internet(text: str, tmp_path: Path) -> None:
    assert program(tmp_path, text) == ["error train.py:2 downloads-at-run-time"]
    assert program(tmp_path, text, site=UNTOLD) == ["hint train.py:2 downloads-at-run-time"]
    assert program(tmp_path, text, site=OPEN) == []
    assert program(tmp_path, text, site=MACHINE) == []


@pytest.mark.parametrize(
    "text",
    [
        "from torchvision import datasets\ndatasets.MNIST('d')\ndatasets.MNIST('d', download=False)\n",
        "import torchvision.models as m\nm.resnet18(weights=None)\nm.resnet18()\n",
        "import timm\ntimm.create_model('vit')\n",
        "from transformers import AutoModel\nAutoModel.from_pretrained('./models/bert')\n",
        "from transformers import AutoModel\nAutoModel.from_pretrained('/scratch/bert')\n",
        "from transformers import AutoModel\nAutoModel.from_pretrained('bert', local_files_only=True)\n",
        "class Model:\n    @classmethod\n    def from_pretrained(cls, x): pass\nModel.from_pretrained('bert')\n",
        "from mine import Model\nModel.from_pretrained('bert')\n",
        "import datasets\ndatasets.load_dataset('csv', data_files='x.csv')\n",
        "import keras\nkeras.applications.ResNet50(weights=None)\n",
        "import requests\nrequests.get('http://localhost:8000/x')\n",
        "import requests\ndef get(url):\n    return requests.get(url)\nget('x')\n",
        "import pandas as pd\npd.read_csv('x.csv')\n",
        "import wandb\nwandb.init(mode='offline')\n",
        "import wandb\nwandb.init(mode='online' if log else 'disabled')\n",
        "import os\nos.environ['WANDB_MODE'] = 'offline'\nimport wandb\nwandb.init()\n",
        "import os\nos.environ.setdefault('HF_HUB_OFFLINE', '1')\nimport datasets\ndatasets.load_dataset('squad')\n",
        "print('https://example.org')\n# wandb.init()\n",
        "import mlflow\nmlflow.set_tracking_uri('file:runs')\n",
        "import os\nos.system('echo wget https://example.org/x')\n",
        "def download(x): pass\ndownload('https://example.org/x')\n",
    ],
)
def test_what_stays_here_is_left_alone(text: str, tmp_path: Path) -> None:
    assert program(tmp_path, text) == []


def test_variables_of_the_spec_keep_it_quiet(tmp_path: Path) -> None:
    text = "import wandb, datasets\nwandb.init()\ndatasets.load_dataset('squad')\n"
    quiet = {"WANDB_MODE": "offline", "HF_HUB_OFFLINE": "1"}
    assert program(tmp_path, text, env__variables=quiet) == []
    online = {"WANDB_MODE": "online", "HF_HUB_OFFLINE": "0"}
    assert len(program(tmp_path, text, env__variables=online)) == 2


def test_a_model_that_is_a_folder_of_the_project_or_given_as_a_path(tmp_path: Path) -> None:
    text = (
        "import argparse\nfrom transformers import AutoModel\nparser = argparse.ArgumentParser()\n"
        "parser.add_argument('--model', default='bert')\nargs = parser.parse_args()\n"
        "AutoModel.from_pretrained(args.model)\n"
    )
    assert program(tmp_path, text) == ["warning train.py:6 downloads-at-run-time"]
    assert program(tmp_path, text, command="python train.py --model {scratch}/bert") == []
    (tmp_path / "bert").mkdir()
    assert program(tmp_path, text) == []


def test_what_is_only_fetched_when_it_is_missing(tmp_path: Path) -> None:
    text = "import os, gdown\nif not os.path.exists('x'):\n    gdown.download('y', 'x')\n"
    assert program(tmp_path, text) == ["warning train.py:3 downloads-at-run-time"]


def test_a_proxy_lets_some_through(tmp_path: Path) -> None:
    text = "import comet_ml, wandb\ncomet_ml.Experiment()\nwandb.init()\n"
    found = program(tmp_path, text, site=PROXY)
    assert found == ["error train.py:3 downloads-at-run-time", "warning train.py:2 downloads-at-run-time"]
    found = program(tmp_path, text, site=PROXY, env__modules=["httpproxy"])
    assert found == ["error train.py:3 downloads-at-run-time"]


# ── packages ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "text",
    [
        "import os\nos.system('pip install einops')",
        "import subprocess\nsubprocess.run(['pip3', 'install', 'einops'])",
        "import subprocess, sys\nsubprocess.check_call([sys.executable, '-m', 'pip', 'install', 'einops'])",
        "import os\nos.system('python -m pip install einops')",
        "import os\nos.system('sudo apt-get install -y ffmpeg')",
    ],
)
def test_installing_at_run_time(text: str, tmp_path: Path) -> None:
    assert program(tmp_path, text) == ["error train.py:2 installs-at-run-time"]


def test_with_internet_it_only_costs_time(tmp_path: Path) -> None:
    text = "import os\nos.system('pip install einops')\n"
    assert program(tmp_path, text, site=OPEN) == ["warning train.py:2 installs-at-run-time"]


def test_pip_in_a_script_where_the_site_has_wheels(tmp_path: Path) -> None:
    script = "#!/bin/sh\npip install torch\npip install --no-index numpy\n# pip install x\necho pip install y\n"
    files: dict[str, str | bytes] = {"run.sh": script}
    (found,) = findings(tmp_path, files, command="bash run.sh", site=OPEN)
    assert brief((found,)) == ["warning run.sh:2 pip-without-no-index"]
    assert found.fix == "pip install --no-index torch"
    assert brief(findings(tmp_path, files, command="bash run.sh")) == ["error run.sh:2 pip-without-no-index"]


def test_conda_where_it_is_not_welcome(tmp_path: Path) -> None:
    script = "#!/bin/bash\nmodule load anaconda\nsource activate x\nconda activate x\nconda install -y numpy\n"
    files: dict[str, str | bytes] = {"run.sh": script}
    found = findings(tmp_path, files, command="bash run.sh")
    assert brief(found) == [f"warning run.sh:{line} conda-discouraged" for line in (2, 3, 4, 5)]
    forbidding = replace(STRICT, software=Software(conda=Welcome.FORBIDDEN))
    found = findings(tmp_path, files, command="bash run.sh", site=forbidding)
    assert brief(found)[0] == "error run.sh:2 conda-discouraged"
    fine = replace(OPEN, software=Software(conda=Welcome.FINE))
    assert brief(findings(tmp_path, files, command="bash run.sh", site=fine)) == [
        "warning run.sh:5 installs-at-run-time"
    ]


def test_a_conda_module_of_the_spec(tmp_path: Path) -> None:
    assert program(tmp_path, "", env__modules=["anaconda/3"]) == ["warning conda-discouraged"]


def test_submitting_from_inside_the_job(tmp_path: Path) -> None:
    text = "import subprocess\nsubprocess.run(['sbatch', 'next.sh'])\n"
    assert program(tmp_path, text) == ["error train.py:2 submits-from-the-job"]
    assert program(tmp_path, text, site=MACHINE) == []
