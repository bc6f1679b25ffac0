#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=64                    # delta: 16 cores for each GPU
#SBATCH --mem=238416M                         # delta: 59604M for each GPU
#SBATCH --gpus-per-node=4                     # asked for by voyageur.toml:3, for each node
#SBATCH --time=0-03:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=abcd-delta-gpu              # asked for by voyageur.toml:3
#SBATCH --partition=gpuA100x4                 # the first partition that has what is asked for; the default one has not
#SBATCH --export=HOME,USER,LOGNAME,SHELL,LANG,LC_ALL,SCRATCH,SLURM_CONF  # nothing else of the submitting shell comes along
export OMP_NUM_THREADS=64                     # one thread for each core of a task
export VOY_INTERFACE=hsn                      # the fast network of delta
export VOY_TASKS_ARE=nodes                    # what srun starts
export VOY_TMP_BASE="/tmp"                    # where delta has node-local disks; it sets no SLURM_TMPDIR
export VOY_PYTHON
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=64 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
