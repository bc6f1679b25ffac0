"""What libraries show of a program: whether it saves, loads, uses a GPU, or several."""

from __future__ import annotations

import sys

from voyageur.readiness.listed import listed

# Written with these: states, models, results.
STRONG_SAVES = listed(
    "torch.save numpy.save numpy.savez numpy.savez_compressed pickle.dump joblib.dump dill.dump cloudpickle.dump"
    " safetensors.torch.save_file tensorflow.train.CheckpointManager tensorflow.train.Checkpoint orbax.checkpoint"
    " torch.distributed.checkpoint.save"
)
STRONG_SAVE_ENDS = listed(
    "save_checkpoint save_weights save_model save_pretrained save_state ModelCheckpoint BackupAndRestore"
    " CheckpointManager PyTreeCheckpointer Checkpointer EpochCheckpoint"
)
# Frameworks that save by themselves while they train.
TRAINERS = frozenset(
    {"Trainer", "Seq2SeqTrainer", "SFTTrainer", "DPOTrainer", "YOLO", "DefaultTrainer", "LightningCLI"}
)
_FRAMEWORKS = ("transformers.", "trl.", "lightning.", "pytorch_lightning.", "ultralytics.", "detectron2.", "mmengine.")
# These write checkpoints, logs or models without a call that shows it.
SELF_SAVING = listed("fairseq mmengine detectron2 ray composer megatron stable_baselines3 flax orbax")
WEAK_SAVES = listed("json.dump sqlite3.connect h5py.File netCDF4.Dataset numpy.savetxt shutil.copy yaml.dump")
WEAK_SAVE_ENDS = listed(
    "write_text write_bytes save to_csv to_parquet to_hdf to_json to_pickle to_netcdf to_zarr writerow writerows"
    " savefig imwrite imsave save_image write_parquet write_csv SummaryWriter"
)
# Whoever trains a model and writes only these has lost it in the end.
PICTURES_AND_TABLES = listed("savefig imwrite imsave save_image to_csv writerow writerows SummaryWriter savetxt")
LOADS = listed("torch.load numpy.load pickle.load joblib.load dill.load safetensors.torch.load_file")
LOAD_ENDS = listed(
    "load_state_dict load_checkpoint load_weights load_model load_state restore restore_checkpoint from_checkpoint"
    " load_from_checkpoint restore_or_initialize latest_checkpoint resume BackupAndRestore"
)
RESUME_WORDS = frozenset({"resume_from_checkpoint", "ckpt_path", "resume", "resume_from", "auto_resume"})


def saves(name: str, last: str) -> bool | None:
    """True: as checkpoints are saved; False: it writes some file; None: it writes nothing."""
    if name in STRONG_SAVES or last in STRONG_SAVE_ENDS or is_trainer(name, last):
        return True
    return False if name in WEAK_SAVES or last in WEAK_SAVE_ENDS else None


def is_trainer(name: str, last: str) -> bool:
    return last in TRAINERS and name.startswith(_FRAMEWORKS)


def format_of(name: str) -> str:
    """Whose files these are: what numpy loads was not saved by torch. Empty: anybody's."""
    return name.partition(".")[0] if name in STRONG_SAVES or name in LOADS else ""


def keeps_state(name: str) -> bool:
    return name.rpartition(".")[2] not in PICTURES_AND_TABLES


def loads(name: str, last: str) -> bool:
    return name in LOADS or last in LOAD_ENDS


# ── GPUs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────

# Importing one of these, or calling what begins or ends like that, is a sign of several processes or several GPUs.
SPREADING_IMPORTS = listed(
    "lightning pytorch_lightning accelerate horovod deepspeed jax mpi4py colossalai fairscale ray dask vllm trl"
    " megatron bagua hivemind composer mmengine detectron2 fairseq submitit mosaicml alpa flax"
)
SPREADING = (
    "torch.distributed",
    "torch.nn.DataParallel",
    "torch.nn.parallel",
    "torch.cuda.device_count",
    "torch.multiprocessing",
    "tensorflow.distribute",
    "transformers.Trainer",
    "transformers.Seq2SeqTrainer",
    "cupy.cuda.nccl",
    "cupy.cuda.Device",
    "dask_cuda",
)
SPREADING_ENDS = frozenset({"DistributedDataParallel", "FullyShardedDataParallel", "DataParallel", "MirroredStrategy"})
# These start their own processes, or use all GPUs from one; the others want a launcher that starts one for each.
SELF_SPREADING_IMPORTS = listed("lightning pytorch_lightning jax flax ray dask vllm submitit composer detectron2 trl")
SELF_SPREADING = (
    "torch.nn.DataParallel",
    "torch.cuda.device_count",
    "torch.multiprocessing",
    "multiprocessing",
    "tensorflow.distribute",
    "transformers.",
    "cupy.cuda",
    "dask_cuda",
    "CUDA_VISIBLE_DEVICES",
)
RANK_VARIABLES = listed(
    "SLURM_PROCID SLURM_LOCALID SLURM_NTASKS SLURM_STEP_NUM_TASKS RANK LOCAL_RANK WORLD_SIZE CUDA_VISIBLE_DEVICES"
    " OMPI_COMM_WORLD_RANK PMI_RANK SLURM_NODEID"
)
LAUNCHERS = listed("torchrun accelerate deepspeed horovodrun mpirun mpiexec srun colossalai ray")
LAUNCH_MODULES = frozenset({"torch.distributed.run", "torch.distributed.launch", "accelerate.commands.launch"})

# Whoever uses one of these has thought about how exact the products of matrices have to be.
PRECISION_ENDS = listed("set_float32_matmul_precision autocast GradScaler half bfloat16 to_bettertransformer")
PRECISION_WORDS = frozenset({"precision", "mixed_precision", "bf16", "fp16", "tf32", "torch_dtype"})
PRECISION_SETTINGS = ("allow_tf32", "fp32_precision")
# GPUs without TensorFloat-32, as clusters call them.
WITHOUT_TF32 = ("k20", "k40", "k80", "m40", "p4", "p40", "p100", "v100", "t4", "rtx6000", "mi")

GPU_LIBRARIES = listed(
    "torch tensorflow jax cupy keras mxnet paddle transformers diffusers lightning pytorch_lightning accelerate"
    " deepspeed numba pycuda pyopencl cudf cuml cugraph rmm vllm xgboost lightgbm catboost onnxruntime openmm taichi"
    " warp triton flax tensorrt torch_geometric dgl sentence_transformers ultralytics fastai torchvision torchaudio"
    " timm cv2 spacy stable_baselines3 gpytorch botorch pyro numpyro kornia monai thinc theano cuda dask_cuda"
)
# Libraries that neither use a GPU nor save by themselves. What is in none of these lists could do anything.
PLAIN_LIBRARIES = listed(
    "numpy pandas scipy matplotlib sklearn PIL tqdm yaml requests seaborn h5py networkx sympy click rich psutil"
    " joblib statsmodels skimage imageio pytest attr attrs pydantic msgspec toml tomli dateutil pytz six"
    " polars pyarrow xarray netCDF4 zarr nltk gensim tabulate termcolor colorama loguru einops tensorboardX"
    " wandb omegaconf hydra docopt fire typer jsonlines ujson orjson plotly bokeh shapely geopandas rasterio"
    " astropy Bio cv2 voyageur mlflow comet_ml neptune datasets huggingface_hub tkinter pygame gdown wget"
)

# Their names are not those of the project.
LIBRARIES = GPU_LIBRARIES | PLAIN_LIBRARIES | SPREADING_IMPORTS | sys.stdlib_module_names
