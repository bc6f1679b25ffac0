#!/bin/bash
# train-3f2a: written by Voyageur VERSION for narval, from /home/ana/weather
#   python train.py --lr 0.1 --out '{checkpoints}'
# Run it again: sbatch job.sh. Every decision with its reason: plan.json, beside this file.

#SBATCH --job-name=train-3f2a5b6c7d8e         # the run's id and token, by which a lost answer is found again
#SBATCH --chdir=/scratch/ana/weather/hpc_outputs/train-3f2a  # a folder that exists for as long as the run does
#SBATCH --output=/scratch/ana/weather/hpc_outputs/train-3f2a/output.log  # made before submitting; without its folder a job dies silently
#SBATCH --open-mode=append                    # a second attempt must not erase the log of the first
#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=48                    # narval: 12 cores for each GPU
#SBATCH --mem=507904M                         # narval: 124G for each GPU
#SBATCH --gpus-per-node=a100:4                # asked for by voyageur.toml:3, for each node
#SBATCH --time=3-00:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=def-prof                    # asked for by voyageur.toml:3
#SBATCH --signal=B:USR1@120                   # the program is told 2m before the end; it may come a minute earlier
#SBATCH --requeue                             # a node that fails, or a preemption, is no reason to lose the run
#SBATCH --export=HOME,USER,LOGNAME,SHELL,LANG,LC_ALL,SCRATCH,SLURM_CONF  # nothing else of the submitting shell comes along

# ── 1. Who and where
# The site's modules come with a login shell. While it reads its profiles, a warning must not kill the job.
if [ -z "${VOY_LOGIN_SHELL:-}" ]; then
    trap '' USR1
    VOY_LOGIN_SHELL=1 exec /bin/bash -l "$0" "$@"
fi
unset VOY_LOGIN_SHELL
umask 077
# When this was submitted from inside another job, that job's settings came along; srun would obey them.
unset SLURM_EXPORT_ENV SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU
unset "${!SBATCH_@}" "${!SRUN_@}" "${!SLURM_CPU_BIND@}" "${!SLURM_MEM_BIND@}"
export VOY_RUN=train-3f2a
export VOY_TOKEN=3f2a5b6c7d8e
export VOY_RUN_DIR=/scratch/ana/weather/hpc_outputs/train-3f2a
export VOY_SUBMISSION="${1:-by-hand}"         # which submission started this job; one that was submitted twice runs once
export VOY_CODE=/scratch/ana/weather/code/0a1b2c3d.tar  # the code, frozen when this was submitted
export VOY_CODE_SHA256=0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d
export VOY_START_IN=.                         # where in the code the command starts
export VOY_CHECKPOINTS=/scratch/ana/weather/train/checkpoints
export VOY_STOP_FILE=/scratch/ana/weather/hpc_outputs/train-3f2a/stop  # appears when the time is nearly up
export VOY_TIME_LIMIT=259200                  # seconds
export VOY_WARN=120                           # seconds before that, the warning comes
export VOY_REQUEUE=1                          # 1: after a preemption it comes back
export VOY_GRACE=28                           # seconds to end in after a stop; narval kills after 30s
export project_name=weather
export exp_name=train
export scratch_dir=/scratch/ana/weather
export OMP_NUM_THREADS=48                     # one thread for each core of a task
export PYTHONUNBUFFERED=1                     # so that the log shows a line when it is written
export VOY_TASKS_ARE=nodes                    # what srun starts
export VOY_RANKS=1                            # on each node
export WANDB_MODE=offline                     # asked for by voyageur.toml:3
mkdir -p "$VOY_CHECKPOINTS"

# ── 2. The program's surroundings
modules=(StdEnv/2023)                         # what narval offers by default
if ! type module >/dev/null 2>&1; then
    echo "voyageur: this node has no 'module' command, so these cannot be loaded: ${modules[*]}" >&2
    exit 1
fi
module purge
module load "${modules[@]}" || {
    echo "voyageur: these modules could not be loaded: ${modules[*]}; 'module spider NAME' lists what there is" >&2
    exit 1
}
# Modules before 4.1 answer 0 also for what they do not have.
for module in "${modules[@]}"; do
    case "${LMOD_VERSION:-}${MODULES_CMD:-}:${LOADEDMODULES-$module}" in
        [!:]* | *":$module"*) ;;
        *) echo "voyageur: the module $module could not be loaded" >&2 && exit 1 ;;
    esac
done
# shellcheck disable=SC1091 # the user's own file
source /home/ana/weather/.venv/bin/activate || exit 1  # it stands in the project's folder

# ── 3. A Python for the supervisor (the program may use another)
for VOY_PYTHON in python3 python /usr/bin/python3 python3.12 python3.11 python3.10 python3.9 python3.8; do
    "$VOY_PYTHON" -c 'import sys; sys.exit(sys.version_info < (3, 8))' 2>/dev/null && break
    VOY_PYTHON=
done
if [ -z "$VOY_PYTHON" ]; then
    echo "voyageur: no Python 3.8 or newer on this node; load a module that has one ([env] modules)" >&2
    exit 1
fi
export VOY_PYTHON

# ── 4. The program, as it was given
command=(python train.py --lr 0.1 --out '{checkpoints}')

# ── 5. Run it: claims this attempt, unpacks the code on the node's own disk, passes warnings on, writes how it ended, cleans up
# per-node: several nodes: the command starts once on each
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=48 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
