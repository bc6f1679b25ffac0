"""What may be charged and what is left: the answers of the cluster's and the site's own commands. Runs nothing."""

from voyageur.allowance.balances import balances_from, is_readable
from voyageur.allowance.model import Account, Balance, JobCount, Quota

__all__ = ["Account", "Balance", "JobCount", "Quota", "balances_from", "is_readable"]
