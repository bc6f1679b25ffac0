#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=256                   # eiger gives whole nodes: all 256 cores
#SBATCH --mem=250880M                         # eiger gives whole nodes: all of the memory that most have
#SBATCH --time=0-03:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=g123                        # asked for by voyageur.toml:3
#SBATCH --partition=normal                    # the default partition has what is asked for
#SBATCH --export=HOME,USER,LOGNAME,SHELL,LANG,LC_ALL,SCRATCH,SLURM_CONF  # nothing else of the submitting shell comes along
export OMP_NUM_THREADS=256                    # one thread for each core of a task
export VOY_TASKS_ARE=nodes                    # what srun starts
export VOY_TMP_BASE="/dev/shm"                # where eiger has memory to put files in; it sets no SLURM_TMPDIR
export VOY_PYTHON
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=256 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
