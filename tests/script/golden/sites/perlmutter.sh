#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=128                   # perlmutter gives whole nodes: all 128 cores
#SBATCH --gpus-per-node=4                     # asked for by voyageur.toml:3, for each node
#SBATCH --time=0-03:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=m1234                       # asked for by voyageur.toml:3
#SBATCH --qos=regular                         # perlmutter: what `regular, GPU nodes` is called by
#SBATCH --constraint=gpu                      # perlmutter: what `regular, GPU nodes` is called by
#SBATCH --export=HOME,USER,LOGNAME,SHELL,LANG,LC_ALL,SCRATCH,SLURM_CONF  # nothing else of the submitting shell comes along
export OMP_NUM_THREADS=128                    # one thread for each core of a task
export VOY_TASKS_ARE=nodes                    # what srun starts
export VOY_PYTHON
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=128 --gpus-per-node=4 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
