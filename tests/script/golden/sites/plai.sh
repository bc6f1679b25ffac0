#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=20                    # plai: 5 cores for each GPU
#SBATCH --mem=49152M                          # plai: 12G for each GPU
#SBATCH --gres=gpu:4                          # asked for by voyageur.toml:3, for each node
#SBATCH --time=0-03:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=prof                        # asked for by voyageur.toml:3
#SBATCH --partition=plai                      # the default partition has what is asked for
#SBATCH --export=HOME,USER,LOGNAME,SHELL,LANG,LC_ALL,SCRATCH,SLURM_CONF  # nothing else of the submitting shell comes along
export OMP_NUM_THREADS=20                     # one thread for each core of a task
export VOY_TASKS_ARE=nodes                    # what srun starts
export VOY_TMP_BASE="/scratch-ssd"            # where plai has node-local disks; it sets no SLURM_TMPDIR
export VOY_PYTHON
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=20 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
