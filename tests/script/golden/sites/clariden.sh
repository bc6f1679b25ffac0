#SBATCH --nodes=2                             # asked for by voyageur.toml:3
#SBATCH --ntasks-per-node=1                   # launch per-node: the command once on every node
#SBATCH --cpus-per-task=288                   # clariden gives whole nodes: all 288 cores
#SBATCH --mem=460800M                         # clariden gives whole nodes: all of its memory
#SBATCH --time=0-03:00:00                     # asked for by voyageur.toml:3
#SBATCH --account=g123                        # asked for by voyageur.toml:3
#SBATCH --partition=normal                    # the default partition has what is asked for
#SBATCH --export=HOME,USER,LOGNAME,SHELL,LANG,LC_ALL,SCRATCH,SLURM_CONF  # nothing else of the submitting shell comes along
export OMP_NUM_THREADS=288                    # one thread for each core of a task
export VOY_INTERFACE='hsn0, hsn1, hsn2, hsn3'  # the fast network of clariden
export VOY_TASKS_ARE=nodes                    # what srun starts
export VOY_TMP_BASE="/dev/shm"                # where clariden has memory to put files in; it sets no SLURM_TMPDIR
export NCCL_NET='AWS Libfabric'               # the network of clariden
export NCCL_NET_GDR_LEVEL=PHB                 # the network of clariden
export NCCL_CROSS_NIC=1                       # the network of clariden
export NCCL_PROTO='^LL128'                    # the network of clariden
export FI_CXI_DEFAULT_CQ_SIZE=131072          # the network of clariden
export FI_CXI_DEFAULT_TX_SIZE=16384           # the network of clariden
export FI_CXI_DISABLE_HOST_REGISTER=1         # the network of clariden
export FI_CXI_RX_MATCH_MODE=software          # the network of clariden
export FI_MR_CACHE_MONITOR=userfaultfd        # the network of clariden
export VOY_PYTHON
exec "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" supervise-tasks -- srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --cpus-per-task=288 --kill-on-bad-exit=1 --label "$VOY_PYTHON" -I "$VOY_RUN_DIR/runtime.pyz" task -- "${command[@]}"
