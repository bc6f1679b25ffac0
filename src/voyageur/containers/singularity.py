"""Singularity before Apptainer, and SingularityCE. The same words under the older name."""

from __future__ import annotations

from voyageur.containers.apptainer import Apptainer


class Singularity(Apptainer):
    name = "singularity"
    title = "Singularity and SingularityCE, as Apptainer"
    program = "singularity"
    page = "https://docs.sylabs.io/guides/latest/user-guide/cli/singularity_exec.html"
    # `--no-mount` came with 3.7 (Piz Daint had 3.6.4); `--home` takes the place of the real home all the same.
    no_mounts = ()


RUNTIME = Singularity()
