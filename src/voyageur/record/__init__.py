"""The run's folder: the truth about a run, and how it is read."""

from voyageur.record.index import Entry, Index
from voyageur.record.run import Record, Run, is_run_folder, load
from voyageur.record.states import State
from voyageur.record.verdict import Sighting, Verdict, age, judge, without_asking

__all__ = [
    "Entry",
    "Index",
    "Record",
    "Run",
    "Sighting",
    "State",
    "Verdict",
    "age",
    "is_run_folder",
    "judge",
    "load",
    "without_asking",
]
