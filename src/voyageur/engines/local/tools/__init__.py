"""`srun` and `scontrol` for jobs on a machine without Slurm: standard library only, and nothing else of Voyageur."""
