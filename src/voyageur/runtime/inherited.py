"""What a job starts with, whoever submits it: the user's shell, or the piece of a long run before it."""

from typing import Dict, Mapping

# What may come along from the submitting shell: who I am and where my files are. Not PATH, not modules, not conda.
INHERITED = ("HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "SCRATCH", "SLURM_CONF")
# Where a job looks for programs before its login shell, its modules and its virtual environment add to it.
STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def job_variables(environment: Mapping[str, str]) -> Dict[str, str]:
    """On any engine; the job's login shell and its script add the rest."""
    found = {"PATH": STANDARD_PATH}
    found.update((name, environment[name]) for name in INHERITED if name in environment)
    return found
