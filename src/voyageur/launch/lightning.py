"""Lightning finds out by itself that it runs under Slurm, if each GPU has its task: `SLURMEnvironment`.

It takes MASTER_ADDR and MASTER_PORT where they are set; its own port is made of the job's last four digits only.
"""

from voyageur.launch.style import Style, Tasks, Wanted


class Lightning(Style):
    name = "lightning"
    title = "one task for each GPU, as Lightning's own Slurm support wants it"
    tasks = Tasks.RANKS
    needs_python = True
    gpu_for_each = True
    signal = "the ranks: Lightning's handler saves and puts the job back into the queue"

    def needs(self, wanted: Wanted) -> tuple[str, ...]:
        """It has had three names: `lightning`, `pytorch_lightning`, `lightning_fabric`."""
        return (wanted.lightning_from,) if wanted.lightning_from else ()


STYLE = Lightning()
