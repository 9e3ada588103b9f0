"""The contract, its tests and its documentation name the same rules and reasons."""

import re
from pathlib import Path

import pytest

from app.translate import Reason
from docs.generate_reasons import TARGET, render

ROOT = Path(__file__).parent.parent
CONTRACT = (ROOT / "docs" / "translation.md").read_text()
RULES = sorted(set(re.findall(r"^\| (S\d+) ", CONTRACT, re.MULTILINE)), key=lambda rule: int(rule[1:]))
SOURCES = {path: path.read_text() for path in (ROOT / "app").rglob("*.py")}
TESTS = {path: path.read_text() for path in (ROOT / "tests").rglob("test_*.py")}


def test_the_contract_lists_its_rules() -> None:
    expected = [*range(1, 16), *range(20, 47), *range(50, 56), *range(60, 74)]
    assert [int(rule[1:]) for rule in RULES] == expected


@pytest.mark.parametrize("rule", RULES)
def test_each_rule_has_a_test_that_names_it(rule: str) -> None:
    named = re.compile(rf"def test_[A-Za-z0-9_]*{rule}(_|\b)")
    ranged = [(int(a), int(b)) for text in TESTS.values() for a, b in re.findall(r"def test_S(\d+)_to_S(\d+)_", text)]
    number = int(rule[1:])
    in_range = any(a <= number <= b and f'"{rule}"' in text for a, b in ranged for text in TESTS.values())
    assert in_range or any(named.search(text) for text in TESTS.values())


def test_reasons_are_documented() -> None:
    """Regenerate with ``python docs/generate_reasons.py``."""
    assert TARGET.read_text() == render()


@pytest.mark.parametrize("reason", list(Reason))
def test_each_reason_names_a_rule_of_the_contract_and_is_used(reason: Reason) -> None:
    assert reason.rule in RULES or reason is Reason.INTERNAL_ERROR
    assert reason.sentence.endswith(".")
    uses = [path for path, text in SOURCES.items() if f"Reason.{reason.name}" in text and path.name != "reasons.py"]
    assert uses


@pytest.mark.parametrize("reason", list(Reason))
def test_each_reason_has_a_test(reason: Reason) -> None:
    assert any(f'"{reason.value}"' in text or f"Reason.{reason.name}" in text for text in TESTS.values())
