umask 077
# When this was submitted from inside another job, that job's settings came along; srun would obey them.
unset SLURM_EXPORT_ENV SLURM_MEM_PER_CPU SLURM_MEM_PER_GPU
unset "${!SBATCH_@}" "${!SRUN_@}" "${!SLURM_CPU_BIND@}" "${!SLURM_MEM_BIND@}"
