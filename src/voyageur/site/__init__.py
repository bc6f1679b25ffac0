"""What a cluster is: the machine here, what this cluster says of itself, or a profile written by hand."""

from voyageur.site.facts import Facts, Medium, Place, Policy, Reach, Request, Unit, Use, Welcome
from voyageur.site.model import Site, Status
from voyageur.site.probe import local_site, site_from_answers
from voyageur.site.profile import load as load_profile
from voyageur.site.profile import names as profile_names
from voyageur.site.queues import Gpu, Partition, Purpose, Queues

__all__ = [
    "Facts",
    "Gpu",
    "Medium",
    "Partition",
    "Place",
    "Policy",
    "Purpose",
    "Queues",
    "Reach",
    "Request",
    "Site",
    "Status",
    "Unit",
    "Use",
    "Welcome",
    "load_profile",
    "local_site",
    "profile_names",
    "site_from_answers",
]
