"""Slurm's commands and answers as text. Nothing here runs anything.

Job names may hold `|`, quotes and newlines, and another job's name must never be read as a row about ours. So rows are
cut at a word that was drawn at random for this one question and that nobody could have put into a name.

What few verbs ask (accounts, shares, reports, surveys, starts) is imported from its own module.
"""

from voyageur.slurm_text.accounting import (
    accounting_argv,
    accounting_by_name_argv,
    accounting_rows,
    find_in_accounting_argv,
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
    cancel_waiting_argv,
    count_argv,
    counts_from,
    find_active_argv,
    find_in_queue_argv,
    is_over,
    jobs_found,
    queue_argv,
    queue_rows,
    warn_argv,
)
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
    "JobRow",
    "NodeGroup",
    "Phase",
    "Reply",
    "accounting_argv",
    "accounting_by_name_argv",
    "accounting_rows",
    "cancel_argv",
    "cancel_waiting_argv",
    "clean_environment",
    "config_argv",
    "config_from",
    "count_argv",
    "counts_from",
    "export_file",
    "find_active_argv",
    "find_in_accounting_argv",
    "find_in_queue_argv",
    "gpus_from",
    "is_over",
    "job_id_from",
    "jobs_found",
    "node_groups",
    "nodes_argv",
    "queue_argv",
    "queue_rows",
    "refusal_hint",
    "reply_from",
    "state_word",
    "stuck_advice",
    "submit_argv",
    "time_limit_from",
    "warn_argv",
]
