"""What sites ask of a job, as rules: each with its level, its reason, its source and its fix. Pure."""

from voyageur.rules.judge import judge
from voyageur.rules.model import Case, Check, Known, Rule

__all__ = ["Case", "Check", "Known", "Rule", "judge"]
