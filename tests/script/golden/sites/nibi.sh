#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=56                    # nibi: 14 cores for each GPU
#SBATCH --mem=1024000M                        # nibi: 250G for each GPU
#SBATCH --gpus-per-node=h100:4                # asked for by voyageur.toml:3, for each node
#SBATCH --time=0-03:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=def-prof                    # asked for by voyageur.toml:3
#SBATCH --export=HOME,USER,LOGNAME,SHELL,LANG,LC_ALL,SCRATCH,SLURM_CONF  # nothing else of the submitting shell comes along
export OMP_NUM_THREADS=56                     # one thread for each core of a task
export VOY_TASKS_ARE=nodes                    # what srun starts
modules=(StdEnv/2023)                         # what nibi offers by default
module purge
module load "${modules[@]}" || {
export VOY_PYTHON
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=56 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
