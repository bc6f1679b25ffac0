#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=28                    # lumi: 7 cores for each GPU
#SBATCH --gpus-per-node=4                     # asked for by voyageur.toml:3, for each node
#SBATCH --time=0-03:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=project_ID                  # asked for by voyageur.toml:3
#SBATCH --partition=small-g                   # the first partition that has what is asked for; the default one has not
#SBATCH --export=HOME,USER,LOGNAME,SHELL,LANG,LC_ALL,SCRATCH,SLURM_CONF  # nothing else of the submitting shell comes along
export OMP_NUM_THREADS=28                     # one thread for each core of a task
export VOY_INTERFACE='hsn0, hsn1, hsn2, hsn3'  # the fast network of lumi
export VOY_TASKS_ARE=nodes                    # what srun starts
export VOY_TMP_BASE="/tmp"                    # where lumi has memory to put files in; it sets no SLURM_TMPDIR
export NCCL_SOCKET_IFNAME=hsn                 # the network of lumi
export NCCL_NET_GDR_LEVEL=3                   # the network of lumi
export VOY_PYTHON
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=28 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
