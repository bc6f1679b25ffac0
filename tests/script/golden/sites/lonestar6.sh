#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=128                   # lonestar6 gives whole nodes: all 128 cores
#SBATCH --time=0-03:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=prof                        # asked for by voyageur.toml:3
#SBATCH --partition=gpu-a100                  # the first partition that has what is asked for; the default one has not
export OMP_NUM_THREADS=128                    # one thread for each core of a task
export VOY_TASKS_ARE=nodes                    # what srun starts
export VOY_LEAVE_OUT=0                        # lonestar6 wants no job to name nodes
export VOY_TMP_BASE="/tmp"                    # where lonestar6 has node-local disks; it sets no SLURM_TMPDIR
export VOY_PYTHON
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=128 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
