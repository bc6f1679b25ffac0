"""What a cluster is: the machine here, what this cluster says of itself, or a profile written by hand."""

from voyageur.site.model import Gpu, Partition, Policy, Site
from voyageur.site.probe import local_site, site_from_answers
from voyageur.site.profile import load as load_profile
from voyageur.site.profile import names as profile_names

__all__ = [
    "Gpu",
    "Partition",
    "Policy",
    "Site",
    "load_profile",
    "local_site",
    "profile_names",
    "site_from_answers",
]
