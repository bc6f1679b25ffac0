#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=64                    # killarney: 16 cores for each GPU
#SBATCH --mem=515000M                         # a node's 515000M, shared by its 4 GPUs
#SBATCH --gpus-per-node=l40s:4                # asked for by voyageur.toml:3, for each node
#SBATCH --time=0-03:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=aip-prof                    # asked for by voyageur.toml:3
#SBATCH --partition=gpubase_l40s_b1           # the default partition has what is asked for
#SBATCH --export=HOME,USER,LOGNAME,SHELL,LANG,LC_ALL,SCRATCH,SLURM_CONF  # nothing else of the submitting shell comes along
export OMP_NUM_THREADS=64                     # one thread for each core of a task
export VOY_TASKS_ARE=nodes                    # what srun starts
modules=(StdEnv/2023)                         # what killarney offers by default
module purge
module load "${modules[@]}" || {
export VOY_PYTHON
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=64 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
