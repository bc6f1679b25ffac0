"""The page about rules names all of them, with numbers and levels; what it calls kept has a test that is there."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from tests.rules.cases import accounting, case
from tests.rules.test_every_rule import OF_PLANS
from voyageur.rules import all_rules
from voyageur.rules.judge import TOPICS
from voyageur.site import Unit

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "rules.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+|–) \| `([a-z-]+)` \| (\w+) \| ([\w, ]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
KEPT = re.findall(r"^\| (\d+) \| ([^|]+) \| `(tests/[\w/]+\.py)::(\w+)` \|$", PAGE, re.MULTILINE)


def test_every_rule_stands_there_with_each_of_its_numbers() -> None:
    numbered = {(str(number), rule.id) for rule in all_rules() for number in rule.numbers}
    without = {("–", rule.id) for rule in OF_PLANS if not rule.numbers}
    assert {(number, id) for number, id, *_ in ROWS} == numbered | without
    assert len(ROWS) == len({(number, id) for number, id, *_ in ROWS})


def test_the_numbers_go_from_1_to_62_in_order() -> None:
    numbers = [int(number) for number, *_ in ROWS if number != "–"]
    assert numbers == sorted(numbers)
    assert set(numbers) == set(range(1, 63))


def test_levels_are_those_of_the_rules() -> None:
    levels = {rule.id: rule.level.value for rule in all_rules()}
    assert {id: level for _, id, level, *_ in ROWS} == {id: levels[id] for _, id, *_ in ROWS}


def test_where_a_rule_acts_is_where_it_is_told() -> None:
    advised = {row[1] for row in ROWS if "advice" in row[3]}
    of_plans = {rule.id for rule in OF_PLANS}
    assert {id for _, id, _, where, *_ in ROWS if where == "project"}.isdisjoint(of_plans)
    assert advised <= of_plans
    giving = {rule.id for topic in TOPICS if topic.ADVICE for rule in topic.RULES}
    assert advised <= giving


@cache
def names_of_tests(file: str) -> set[str]:
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize(("number", "file", "test"), [(row[0], row[2], row[3]) for row in KEPT])
def test_what_is_kept_is_tested(number: str, file: str, test: str) -> None:
    assert 1 <= int(number) <= 62
    assert test in names_of_tests(file)


def test_a_plan_says_what_it_costs() -> None:
    cost = case(accounting(unit=Unit.CORE_HOURS, by=("cores",)), cpus=10, time="10h").plan.cost
    assert cost is not None
    assert (cost.amount, cost.unit) == (100.0, Unit.CORE_HOURS)
