"""Slurm's commands and answers as text. Nothing here runs anything.

Job names may hold `|`, quotes and newlines, and another job's name must never be read as a row about ours. So rows are
cut at a word that was drawn at random for this one question and that nobody could have put into a name.
"""

from voyageur.slurm_text.accounting import (
    accounting_argv,
    accounting_by_name_argv,
    accounting_rows,
    find_in_accounting_argv,
)
from voyageur.slurm_text.associations import (
    Association,
    Qos,
    associations_argv,
    associations_from,
    qos_argv,
    qos_from,
)
from voyageur.slurm_text.cluster import (
    NodeGroup,
    config_argv,
    config_from,
    gpus_from,
    node_groups,
    nodes_argv,
    time_limit_from,
)
from voyageur.slurm_text.jobs import PHASE_OF, STUCK_REASONS, JobRow, Phase, state_word, stuck_advice
from voyageur.slurm_text.queue import (
    cancel_argv,
    count_argv,
    counts_from,
    find_in_queue_argv,
    jobs_found,
    queue_argv,
    queue_rows,
)
from voyageur.slurm_text.reports import Use, report_argv, report_from
from voyageur.slurm_text.shares import Share, account_shares_argv, own_shares_argv, shares_from
from voyageur.slurm_text.submitting import (
    SUBMIT_PATIENCE,
    Reply,
    export_file,
    job_id_from,
    refusal_hint,
    reply_from,
    submit_argv,
)
from voyageur.slurm_text.surroundings import FINDS_THE_CLUSTER, clean_environment

__all__ = [
    "FINDS_THE_CLUSTER",
    "PHASE_OF",
    "STUCK_REASONS",
    "SUBMIT_PATIENCE",
    "Association",
    "JobRow",
    "NodeGroup",
    "Phase",
    "Qos",
    "Reply",
    "Share",
    "Use",
    "account_shares_argv",
    "accounting_argv",
    "accounting_by_name_argv",
    "accounting_rows",
    "associations_argv",
    "associations_from",
    "cancel_argv",
    "clean_environment",
    "config_argv",
    "config_from",
    "count_argv",
    "counts_from",
    "export_file",
    "find_in_accounting_argv",
    "find_in_queue_argv",
    "gpus_from",
    "job_id_from",
    "jobs_found",
    "node_groups",
    "nodes_argv",
    "own_shares_argv",
    "qos_argv",
    "qos_from",
    "queue_argv",
    "queue_rows",
    "refusal_hint",
    "reply_from",
    "report_argv",
    "report_from",
    "shares_from",
    "state_word",
    "stuck_advice",
    "submit_argv",
    "time_limit_from",
]
