"""What sites ask of a job, as rules: each with its level, its reason, its source and its fix. Pure."""

from voyageur.rules.judge import advice, all_rules, judge, rule
from voyageur.rules.model import Advice, Case, Check, Known, PastRun, Rule

__all__ = ["Advice", "Case", "Check", "Known", "PastRun", "Rule", "advice", "all_rules", "judge", "rule"]
