"""Findings are data: a kind has its facts, its traits and its words in one class, and is discovered."""

from __future__ import annotations

import ast
import dataclasses
import functools
import pickle
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

import flashlearn
from flashlearn.exercise import Case
from flashlearn.explaining import diagnose, findings, scope
from flashlearn.explaining.findings import case_status, declared, nan_origin, symbolic, undefined_memory
from flashlearn.explaining.findings.first_divergence import FirstDivergence, TwoDivergences, WithItsLine
from flashlearn.explaining.findings.misplaced_stores import Transposed
from flashlearn.explaining.findings.outputs import Outputs
from flashlearn.explaining.findings.rule import labelled
from flashlearn.explaining.findings.shape import Shape
from flashlearn.explaining.findings.two_mistakes import AtOnce, Besides
from flashlearn.explaining.findings.zero_sign_constants import ConstantFactor, Meaning, Sign
from flashlearn.interpreter.observers.nan_origin import NonFiniteOrigin
from flashlearn.judging.cases import run
from flashlearn.judging.symbolic.clauses import CLAUSES
from flashlearn.kernels import softmax
from flashlearn.lessons import find
from flashlearn.outcome import Finding, Misfit, Outcome, Place, Status

PACKAGE = Path(flashlearn.__file__).parent
EXPLAINING = PACKAGE / "explaining"
SEARCHING = sorted(path for path in EXPLAINING.rglob("*.py") if not {"findings", "edits"} & {*path.parts})
NAMED = pytest.mark.parametrize("kind", findings.KINDS.values(), ids=findings.KINDS)


@NAMED
def test_a_kind_is_a_frozen_dataclass_with_words_and_a_docstring(kind):
    assert dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen
    assert kind.wording is not flashlearn.outcome.FindingKind.wording
    assert kind.__doc__ and not kind.__doc__.startswith(f"{kind.__name__}(")


@NAMED
def test_every_kind_is_made_somewhere(kind):
    assert any(kind.__name__ in text for text in sources()), f"nothing makes {kind.name!r}"


@functools.cache
def sources() -> tuple[str, ...]:
    """The package's modules, but of the kinds' own only the looks that make them."""
    return tuple(_sources())


def _sources() -> Iterator[str]:
    for path in sorted(PACKAGE.rglob("*.py")):
        tree = ast.parse(path.read_text())
        calls = (n.func for n in ast.walk(tree) if isinstance(n, ast.Call))
        yield " ".join(ast.unparse(call) for call in calls)
        if path.parent.name == "findings":
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef) and any(
                    isinstance(n, ast.Call) and ast.unparse(n.func) == "cls" for n in ast.walk(node)
                ):
                    yield node.name
                if isinstance(node, ast.AnnAssign | ast.Assign) and isinstance(node.value, ast.DictComp):
                    yield ast.unparse(node.value)  # the kinds by status, and by what a launcher did


def test_rules_have_ranks_of_their_own_and_the_vague_ones_come_last():
    ranks = [rule.rank for rule in findings.RULES]
    assert len(set(ranks)) == len(ranks)
    assert findings.SURE + findings.VAGUE == findings.RULES


def test_a_module_that_is_added_is_found_with_its_kinds(tmp_path, monkeypatch):
    (tmp_path / "tired.py").write_text(
        "from flashlearn.outcome import FindingKind\nclass Tired(FindingKind):\n    name = 'tired'\n"
    )
    monkeypatch.setattr(findings, "__path__", [*findings.__path__, str(tmp_path)])
    assert findings._kinds().keys() - findings.KINDS.keys() == {"tired"}
    (tmp_path / "twice.py").write_text(
        "from flashlearn.outcome import FindingKind\nclass Twice(FindingKind):\n    name = 'sign'\n"
    )
    with pytest.raises(ValueError, match="two kinds of findings are called 'sign'"):
        findings._kinds()
    for name in ("tired", "twice"):
        sys.modules.pop(f"{findings.__name__}.{name}", None)
        if hasattr(findings, name):
            delattr(findings, name)


@pytest.mark.parametrize("status", [s for s in Status if s not in (Status.WRONG, Status.PASS)])
def test_every_status_that_ends_a_check_has_words(status):
    words = case_status.BY_STATUS[status]("It stopped.", "odd").wording()
    assert (words.sentence, words.quotes) == ("It stopped.", "odd")


def test_every_table_of_words_is_complete():
    assert symbolic.PATTERN_STEPS.keys() == CLAUSES.keys()
    assert set(scope.SCOPE_TAGS) == declared.TAGS.keys()
    told = nan_origin.OPERATIONS.keys() | undefined_memory.SENTENCES.keys() | nan_origin.INFINITIES.keys()
    assert set(re.findall(r'"([^"]+)"', " ".join(NonFiniteOrigin.__doc__.split()))) == told


def is_prose(text: str) -> bool:
    return " " in text.strip() and any(mark in text + " " for mark in (". ", "? "))


def strings_beside_docstrings(path: Path) -> Iterator[str]:
    tree = ast.parse(path.read_text())
    documentation = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in documentation:
            yield node.value


@pytest.mark.parametrize("path", SEARCHING, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_what_finds_mistakes_makes_no_sentences(path):
    if path.name not in ("pipeline.py", "formulas.py"):  # which describe their stages
        assert [text for text in strings_beside_docstrings(path) if is_prose(text)] == []


@pytest.mark.parametrize("path", SEARCHING, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_what_finds_mistakes_reads_no_sentence_of_a_finding(path):
    read = [
        ast.unparse(node)
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Attribute) and node.attr in ("sentence", "next_step", "wording")
    ]
    quoted = ("mistake.sentence", "mistake.next_step", "verdict.sentence")
    assert [one for one in read if one not in quoted] == []


FOUND = (
    Finding(ConstantFactor("dq", 2.0, Meaning("2"))),
    Finding(Shape("o", Misfit("shape", (1,), (2,)), "a", ("o",)), Place("f", 3, "x")),
    Finding(Besides((Finding(case_status.Race("Two.")), Finding(Sign("dq")))), fits=1, of=2),
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


def test_the_parts_are_named_once_each():
    parts = (Finding(Sign("dq")), Finding(Sign("dk")), Finding(Transposed("dv")))
    assert Finding(Outputs(parts)).mistake == "sign + transposed"
    assert Finding(WithItsLine(parts[:2])).mistake == "sign"


def test_that_there_are_two_mistakes_is_said_once():
    parts = (Finding(Sign("dq")), Finding(Sign("dk")))
    named, departures = Finding(AtOnce(parts=parts)), Finding(TwoDivergences(parts))
    assert Finding(WithItsLine((named, departures))).sentence.count("There are two mistakes.") == 1


def test_beside_two_named_mistakes_nothing_is_called_right():
    departure = FirstDivergence("o", 49, False, "c", (0,), None, "LSE", "", None, ("den",), (), None)
    named = Finding(AtOnce(parts=(Finding(Sign("dq")), Finding(Sign("dk")))))
    sentence = Finding(WithItsLine((named, Finding(departure)))).sentence
    assert "though `den` is right" in Finding(departure).sentence and "den" not in sentence
    assert sentence.endswith("At least one of the two mistakes shows in line 49.")


def test_a_tile_of_which_one_side_is_known_is_a_block_of_that_side():
    departure = FirstDivergence("o", 49, True, "c", (2,), (1,), "O", "", None, (), (), None, side="queries")
    sentence = Finding(departure).sentence
    assert sentence.startswith(
        "Up to and including block 1 of the queries, no result is wrong; in block 2 of"
    )


def test_a_line_is_quoted_without_its_comment():
    place = Place("f.py", 4, "    y = tl.log(x)  # log 0 is −∞", "kernel")
    origin = nan_origin.NanOrigin("outside the domain", False, None, "c", "y", 1, 1, line=4)
    assert "line 4 (`y = tl.log(x)`):" in nan_origin.sentence_away_from(Finding(origin, place), None)


def test_an_outcome_that_says_nothing_of_its_fault_is_plain_data_too():
    outcome = Outcome(Case("c"), Status.RACE, "Two programs.", fault=("race", "store"))
    assert pickle.loads(pickle.dumps(outcome)) == outcome


def test_each_next_step_says_which_of_several_it_is_about():
    assert labelled(("1", "Which stride is it?")) == "Which stride is it?"
    assert labelled(("1", "Which stride is it?"), ("2", "")) == "Which stride is it?"
    assert labelled(("dk", "Where does alpha enter?"), ("dv", "Where does alpha enter?")).startswith("Where")
    told = labelled(("1", "Which stride is it?"), ("2", "Both terms must be natural."))
    assert told == "(1) Which stride is it? (2) Both terms must be natural."
