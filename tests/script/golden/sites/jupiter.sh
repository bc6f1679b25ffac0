#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=288                   # a node's 288 cores, shared by its 4 GPUs
#SBATCH --mem=899072M                         # a node's 878G, shared by its 4 GPUs
#SBATCH --gres=gpu:4                          # asked for by voyageur.toml:3, for each node
#SBATCH --time=0-03:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=prof                        # asked for by voyageur.toml:3
#SBATCH --partition=booster                   # the default partition has what is asked for
#SBATCH --export=HOME,USER,LOGNAME,SHELL,LANG,LC_ALL,SCRATCH,SLURM_CONF  # nothing else of the submitting shell comes along
export OMP_NUM_THREADS=288                    # one thread for each core of a task
export VOY_INTERFACE=ib0                      # the fast network of jupiter
export VOY_TASKS_ARE=nodes                    # what srun starts
export NCCL_SOCKET_IFNAME=ib0                 # the network of jupiter
export GLOO_USE_IPV6=0                        # the network of jupiter
modules=(Stages/2026)                         # what jupiter offers by default
module purge
module load "${modules[@]}" || {
export VOY_PYTHON
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=288 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
