#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=32                    # leonardo: 8 cores for each GPU
#SBATCH --mem=491520M                         # leonardo: 120G for each GPU
#SBATCH --gres=gpu:4                          # asked for by voyageur.toml:3, for each node
#SBATCH --time=0-03:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=IscrB_NAME                  # asked for by voyageur.toml:3
#SBATCH --partition=boost_usr_prod            # the first partition that has what is asked for; the default one has not
#SBATCH --export=HOME,USER,LOGNAME,SHELL,LANG,LC_ALL,SCRATCH,SLURM_CONF  # nothing else of the submitting shell comes along
export OMP_NUM_THREADS=32                     # one thread for each core of a task
export VOY_INTERFACE='ib0, ib1, ib2, ib3'     # the fast network of leonardo
export VOY_TASKS_ARE=nodes                    # what srun starts
export NCCL_IB_HCA=mlx5_0,mlx5_1,mlx5_2,mlx5_3  # the network of leonardo
export NCCL_SOCKET_IFNAME=ib0,ib1,ib2,ib3     # the network of leonardo
export NCCL_PXN_DISABLE=1                     # the network of leonardo
export VOY_PYTHON
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=32 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
