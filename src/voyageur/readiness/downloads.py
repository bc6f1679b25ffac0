"""What fetches from the internet when it is called, and how to bring it there before."""

from __future__ import annotations

from typing import NamedTuple

from voyageur.readiness.listed import listed


class Family(NamedTuple):
    """`quiet`: variables that keep it off the network, each with the values that do (none: any)."""

    fix: str
    quiet: dict[str, tuple[str, ...]]
    host: str = ""


_YES = ("1", "true", "yes", "on")

FAMILIES = {
    "hf": Family(
        'run it once on a login node with HF_HOME on scratch; then HF_HUB_OFFLINE = "1" and the same HF_HOME'
        " in [env] variables",
        {"HF_HUB_OFFLINE": _YES, "TRANSFORMERS_OFFLINE": _YES, "HF_DATASETS_OFFLINE": _YES},
        "huggingface.co",
    ),
    "wandb": Family(
        'WANDB_MODE = "offline" in [env] variables, then `wandb sync` on a login node',
        {"WANDB_MODE": ("offline", "disabled", "dryrun"), "WANDB_DISABLED": _YES},
        "wandb.ai",
    ),
    "comet": Family(
        "comet_ml.OfflineExperiment, then `comet upload` on a login node",
        {"COMET_MODE": ("offline",), "COMET_START_ONLINE": ("0", "false")},
        "comet.com",
    ),
    "neptune": Family(
        'NEPTUNE_MODE = "offline" in [env] variables, then `neptune sync` on a login node',
        {"NEPTUNE_MODE": ("offline", "debug", "read-only")},
        "neptune.ai",
    ),
    "torch": Family(
        "call it once on a login node with TORCH_HOME on scratch; then the same TORCH_HOME in [env] variables",
        {},
        "download.pytorch.org",
    ),
    "dataset": Family("download it once on a login node to scratch, and read it there with download=False", {}),
    "keras": Family(
        "call it once on a login node with KERAS_HOME on scratch; then the same KERAS_HOME in [env] variables", {}
    ),
    "sklearn": Family(
        "call it once on a login node; data_home= on scratch, and download_if_missing=False in the job", {}
    ),
    "nltk": Family("`python -m nltk.downloader -d FOLDER NAME` on a login node, then NLTK_DATA in [env] variables", {}),
    "spacy": Family("install the model into the virtual environment on a login node, as a package", {}),
    "tracking": Family('a folder: mlflow.set_tracking_uri("file:...")', {}),
    "url": Family("download it once on a login node to scratch, and give its path in the command", {}),
}

EXACT = {
    "torch.hub.load": "torch",
    "torch.hub.load_state_dict_from_url": "torch",
    "torch.hub.download_url_to_file": "torch",
    "torch.utils.model_zoo.load_url": "torch",
    "transformers.pipeline": "hf",
    "datasets.load_dataset": "hf",
    "evaluate.load": "hf",
    "huggingface_hub.snapshot_download": "hf",
    "huggingface_hub.hf_hub_download": "hf",
    "sentence_transformers.SentenceTransformer": "hf",
    "sentence_transformers.CrossEncoder": "hf",
    "tensorflow_datasets.load": "keras",
    "tensorflow_hub.load": "keras",
    "tensorflow_hub.KerasLayer": "keras",
    "nltk.download": "nltk",
    "spacy.cli.download": "spacy",
    "gdown.download": "url",
    "gdown.download_folder": "url",
    "gdown.cached_download": "url",
    "wget.download": "url",
    "kagglehub.dataset_download": "url",
    "kagglehub.model_download": "url",
    "seaborn.load_dataset": "url",
    "openml.datasets.get_dataset": "url",
    "wandb.init": "wandb",
    "comet_ml.Experiment": "comet",
    "comet_ml.start": "comet",
    "neptune.init_run": "neptune",
    "mlflow.set_tracking_uri": "tracking",
}
_KERAS = ("tensorflow.keras.", "keras.")
# These fetch only what is named by an address.
BY_ADDRESS = listed(
    "urllib.request.urlretrieve urllib.request.urlopen requests.get requests.post requests.head requests.request"
    " httpx.get httpx.post httpx.stream aiohttp.request pandas.read_csv pandas.read_json pandas.read_table"
    " pandas.read_parquet pandas.read_excel mlflow.set_tracking_uri"
)
_OWN_MODELS = ("transformers.", "diffusers.", "peft.", "tokenizers.", "setfit.", "optimum.", "open_clip.")
_DATASETS = ("torchvision.datasets.", "torchaudio.datasets.", "torchtext.datasets.", "medmnist.", "tonic.datasets.")
STARTS = (*_DATASETS, *_KERAS, "torchvision.models.", "timm.create_model", "sklearn.datasets.fetch_")
# The first word of load_dataset() that means files which are there.
LOCAL_FORMATS = listed("csv json parquet text arrow imagefolder audiofolder videofolder webdataset pandas sql xml")
_HERE = ("http://localhost", "http://127.", "http://0.0.0.0", "http://[::1]")


def family_of(name: str) -> str | None:
    if name in EXACT:
        return EXACT[name]
    if name in BY_ADDRESS:
        return "url"
    last = name.rpartition(".")[2]
    if last == "from_pretrained" and name.startswith(_OWN_MODELS):
        return "hf"
    if name.startswith(_DATASETS):
        return "dataset"
    if name.startswith("torchvision.models.") or name == "timm.create_model":
        return "torch"
    if name.startswith("sklearn.datasets.fetch_"):
        return "sklearn"
    if name.startswith(_KERAS):
        return _keras(name, last)
    return "wandb" if last == "WandbLogger" and name.startswith(("lightning.", "pytorch_lightning.")) else None


def _keras(name: str, last: str) -> str | None:
    fetches = (".datasets." in name and last == "load_data") or last == "get_file"
    return "keras" if fetches or (".applications." in name and last[:1].isupper()) else None


def needs_address(name: str) -> bool:
    return name in BY_ADDRESS


def is_address(text: str) -> bool:
    return text.startswith(("http://", "https://", "ftp://")) and not text.startswith(_HERE)


def host_of(text: str) -> str:
    return text.partition("://")[2].partition("/")[0].partition(":")[0]
