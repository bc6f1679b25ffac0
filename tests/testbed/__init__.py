"""A real Slurm, thrown away after use: what Voyageur promises is tried on the daemons that must keep it.

with start_bed("P") as bed:
    job = bed.submit(["--nodes=2", "--wrap=srun hostname"])
    bed.wait_job(job, 20)
"""

from .bed import Bed, start_bed
from .daemons import Daemon, Node
from .keeper_pipe import BedError
from .layout import Kind
from .proxy import ControllerProxy, Fault
from .requirements import why_not

__all__ = ["Bed", "BedError", "ControllerProxy", "Daemon", "Fault", "Kind", "Node", "start_bed", "why_not"]
