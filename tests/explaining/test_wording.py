"""Findings are data: every kind has its words in one package, and nobody else makes sentences of findings."""

from __future__ import annotations

import ast
import inspect
import pickle
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import flashlearn
from flashlearn.exercise import Case
from flashlearn.explaining import diagnose, rules, scope, wording
from flashlearn.interpreter.observers.nan_origin import Birth
from flashlearn.judging.cases import run
from flashlearn.judging.symbolic.clauses import CLAUSES
from flashlearn.kernels import softmax
from flashlearn.lessons import find
from flashlearn.outcome import Outcome, Place, Status, untyped

PACKAGE = Path(flashlearn.__file__).parent
NAMING = ("patterns.py",)
EXPLAINING = sorted(
    path for path in (PACKAGE / "explaining").rglob("*.py") if "wording" not in path.parts
) + [PACKAGE / "judging" / "symbolic" / name for name in NAMING]


def findings() -> Iterator[tuple[str, ast.Call]]:
    """Every call that makes a finding (or changes one's kind), and where it stands."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in (
                "untyped",
                "StringKind",
                "rule",
            ):
                yield f"{path.relative_to(PACKAGE)}:{node.lineno}", node


def kinds_made() -> dict[str, str]:
    """The kinds that stand in the package's calls, and a place where each does."""
    made = {}
    for where, call in findings():
        if call.args and isinstance(call.args[0], ast.Constant):
            made[call.args[0].value] = where
    for path in EXPLAINING:
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.keyword) and node.arg == "kind" and isinstance(node.value, ast.Constant):
                made[node.value.value] = str(path.relative_to(PACKAGE))
    return made


def test_every_kind_that_is_made_has_words():
    made = kinds_made()
    assert {"sign", "at once", "birth", "declared", "swapped", "departure and place"} <= made.keys()
    assert {kind: where for kind, where in made.items() if kind not in wording.KINDS} == {}
    assert {rule.kind for rule in rules.RULES} <= wording.KINDS.keys()


def test_every_kind_that_has_words_is_made():
    statuses = {status.name.lower() for status in Status} | {"launcher", "changed input", "returned input"}
    assert wording.KINDS.keys() - kinds_made().keys() - statuses == set()


@pytest.mark.parametrize("status", [s for s in Status if s not in (Status.WRONG, Status.PASS)])
def test_every_status_that_ends_a_check_has_words(status):
    facts = {"astray": "mask"} if status is Status.OUT_OF_BOUNDS else {}
    said = wording.said(untyped(status.name.lower(), {"seen": "It stopped.", "case": "odd", **facts}))
    assert (said.sentence, said.quotes) == ("It stopped.", "odd")


def literal_facts() -> Iterator[tuple[str, str, set[str]]]:
    """Kinds whose facts stand beside them as a dictionary."""
    for where, call in findings():
        if [type(argument) for argument in call.args[:2]] == [ast.Constant, ast.Dict]:
            kind, facts = call.args[:2]
            if None not in facts.keys:  # **more
                yield where, kind.value, {key.value for key in facts.keys}


@pytest.mark.parametrize(("where", "kind", "facts"), list(literal_facts()))
def test_the_facts_are_those_that_the_words_want(where, kind, facts):
    wanted = inspect.signature(wording.KINDS[kind]).parameters
    required = {name for name, p in wanted.items() if p.default is p.empty} - {"parts"}
    assert required <= facts | {"output"} and facts <= wanted.keys(), where


def test_every_table_of_words_is_complete():
    assert wording.of_symbolic.PATTERNS.keys() == CLAUSES.keys()
    assert set(scope.KINDS) == wording.of_mistakes.TAGS.keys()
    told = wording.of_origins.BIRTHS.keys() | wording.of_origins.UNDEFINED.keys()
    assert all(f'"{kind}"' in " ".join(Birth.__doc__.split()) for kind in told)
    assert Birth.__doc__.count('"') == 2 * len(told)


def is_prose(text: str) -> bool:
    return " " in text.strip() and any(mark in text + " " for mark in (". ", "? "))


def strings_beside_docstrings(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


@pytest.mark.parametrize("path", EXPLAINING, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_what_finds_mistakes_makes_no_sentences(path):
    assert [text for text in strings_beside_docstrings(path) if is_prose(text)] == []


@pytest.mark.parametrize("path", EXPLAINING, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_what_finds_mistakes_reads_no_sentence_of_a_finding(path):
    read = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("sentence", "next_step", "said")
    ]
    quoted = ("mistake.sentence", "mistake.next_step", "verdict.sentence")
    assert [one for one in read if one not in quoted] == []


FOUND = (
    untyped("constant factor", {"output": "dq", "factor": 2.0, "meaning": rules.factors.Meaning("2")}),
    untyped("shape", {"output": "o", "misfit": None, "case": "a", "outputs": ("o",)}, Place("f", 3, "x")),
    untyped("besides", {}, fits=1, of=2, parts=(untyped("race", {"seen": "Two."}), untyped("sign"))),
)


@pytest.mark.parametrize("finding", FOUND, ids=lambda finding: finding.kind.name)
def test_a_finding_survives_pickling(finding):
    assert pickle.loads(pickle.dumps(finding)) == finding


def test_the_finding_and_the_outcomes_of_a_check_survive_pickling():
    def wrong(x):
        return -softmax.softmax_forward(x)

    exercise = find("softmax_forward")
    outcomes = run(exercise, wrong, compiled=False)
    assert {o.status for o in outcomes} == {Status.WRONG} and outcomes[0].launches
    finding = diagnose(exercise, outcomes, wrong)
    again, report = pickle.loads(pickle.dumps((outcomes, finding)))
    assert report == finding and report.sentence == finding.sentence
    assert [(o.case, o.status, o.message, o.fault) for o in again] == [
        (o.case, o.status, o.message, o.fault) for o in outcomes
    ]
    for one, other in zip(outcomes, again, strict=True):
        assert all(torch.equal(a.got, b.got) for a, b in zip(one.outputs, other.outputs, strict=True))
        assert [launch.name for launch in one.launches] == [launch.name for launch in other.launches]


def test_names_of_what_is_combined_are_said_once_each():
    parts = (
        untyped("sign", {"output": "dq"}),
        untyped("sign", {"output": "dk"}),
        untyped("transposed"),
    )
    assert untyped("outputs", parts=parts).mistake == "sign + transposed"
    assert untyped("with its line", parts=parts, called=("sign",)).mistake == "sign"


def test_the_same_kind_is_not_put_into_words_twice():
    with pytest.raises(ValueError, match="two functions"):
        wording.kinds.kind("sign")(print)


def test_an_outcome_that_says_nothing_of_its_fault_is_plain_data_too():
    outcome = Outcome(Case("c"), Status.RACE, "Two programs.", fault=("race", "store"))
    assert pickle.loads(pickle.dumps(outcome)) == outcome
