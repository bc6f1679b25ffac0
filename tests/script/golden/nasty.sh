#!/bin/bash
# train-3f2a: written by Voyageur VERSION for slurm, from /home/ana/it's $(touch v) 🙂
#   python 'my train.py' --name 'it'"'"'s "quoted" \ and `id`' %j '$(touch x)' '${HOME}' 'é🙂' 'two lines #SBATCH --nodes=99' '' '*' '!!' - 'a;b&c|d>e' ' ' '# no comment'
# Run it again: sbatch job.sh. Every decision with its reason: plan.json, beside this file.

#SBATCH --job-name=train-3f2a5b6c7d8e         # the run's id and token, by which a lost answer is found again
#SBATCH --chdir="/scratch/%j a\"b #c d/it-s-touch-v-128346/hpc_outputs/train-3f2a"  # a folder that exists for as long as the run does
#SBATCH --output="/scratch/%%j a\"b #c d/it-s-touch-v-128346/hpc_outputs/train-3f2a/output.log"  # made before submitting; without its folder a job dies silently
#SBATCH --open-mode=append                    # a second attempt must not erase the log of the first
#SBATCH --nodes=1                             # default
#SBATCH --ntasks-per-node=1                   # launch plain: one process, on one node
#SBATCH --cpus-per-task=1                     # default: one core a task
#SBATCH --mem=500M                            # 500M for each of its cores, as most nodes have it
#SBATCH --time=0-01:00:00                     # default
#SBATCH --partition=low                       # the default partition has what is asked for
#SBATCH --constraint="a&b|\"c\" #d \\ [e*1]"  # asked for by voyageur.toml:3
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
export VOY_RUN_DIR='/scratch/%j a"b #c d/it-s-touch-v-128346/hpc_outputs/train-3f2a'
export VOY_SUBMISSION="${1:-by-hand}"         # which submission started this job; one that was submitted twice runs once
export VOY_CODE='/scratch/%j a"b #c d/weather/code/0a1b2c3d.tar'  # the code, frozen when this was submitted
export VOY_CODE_SHA256=0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d0a1b2c3d
export VOY_START_IN=.                         # where in the code the command starts
export VOY_CHECKPOINTS='/scratch/%j a"b #c d/it-s-touch-v-128346/my-train/checkpoints'
export VOY_STOP_FILE='/scratch/%j a"b #c d/it-s-touch-v-128346/hpc_outputs/train-3f2a/stop'  # appears when the time is nearly up
export VOY_TIME_LIMIT=3600                    # seconds
export VOY_WARN=120                           # seconds before that, the warning comes
export VOY_REQUEUE=1                          # 1: after a preemption it comes back
export VOY_GRACE=3                            # seconds to end in after a stop; slurm kills after 5s
export project_name='it'"'"'s $(touch v)
🙂'
export exp_name=my-train
export scratch_dir='/scratch/%j a"b #c d/it-s-touch-v-128346'
export OMP_NUM_THREADS=1                      # one thread for each core of a task
export PYTHONUNBUFFERED=1                     # so that the log shows a line when it is written
export NOTE='two
lines $(touch w) '"'"'q'"'"' "Q"'  # asked for by voyageur.toml:3
export EMPTY=''                               # asked for by voyageur.toml:3
mkdir -p "$VOY_CHECKPOINTS"

# ── 2. The program's surroundings
modules=('a b' '$(touch z)')                  # asked for by voyageur.toml:3
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
source '/env s/$(touch y)/bin/activate' || exit 1  # asked for by voyageur.toml:3

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
command=(python 'my train.py' --name 'it'"'"'s "quoted" \ and `id`' %j '$(touch x)' '${HOME}' 'é🙂' 'two
lines
#SBATCH --nodes=99' '' '*' '!!' - 'a;b&c|d>e' '	' '# no comment')

# ── 5. Run it: claims this attempt, unpacks the code on the node's own disk, passes warnings on, writes how it ended, cleans up
# plain: one node: the command starts once
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise -- "${command[@]}"
