#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=1                     # default: one core a task
#SBATCH --mem=7818M                           # 1 of a node's 48 cores, so that share of its memory
#SBATCH --time=0-03:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=tra24_NAME                  # asked for by voyageur.toml:3
#SBATCH --partition=g100_usr_prod             # the default partition has what is asked for
#SBATCH --export=HOME,USER,LOGNAME,SHELL,LANG,LC_ALL,SCRATCH,SLURM_CONF  # nothing else of the submitting shell comes along
export OMP_NUM_THREADS=1                      # one thread for each core of a task
export VOY_TASKS_ARE=nodes                    # what srun starts
export VOY_TMP_BASE="/scratch_local"          # where galileo100 has node-local disks; it sets no SLURM_TMPDIR
export VOY_PYTHON
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=1 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
