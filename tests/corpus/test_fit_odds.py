"""The script that counts the odds of edits: it writes the form of odds.json, and figures follow counts."""

from __future__ import annotations

import json
from importlib.resources import files

from flashlearn.explaining import edits
from flashlearn.explaining.edits.ranking import parsed
from tests.corpus import find_entry, wrong_entries
from tests.corpus.fit_odds import Tried, dumped, fitted, tried_edits

TEXT = files(edits).joinpath("odds.json").read_text(encoding="utf-8")
PRESENT = json.loads(TEXT)


def tried(kind: str, repaired: bool, about: str = "", table: str = "", *factors: str) -> Tried:
    return Tried(kind, 0, about, table, "any", factors, repaired)


def test_the_script_writes_the_file_in_the_form_in_which_it_is():
    assert dumped(PRESENT) == TEXT


def test_without_evidence_every_figure_stays():
    assert fitted(PRESENT, [], prior=300) == PRESENT


def test_a_kind_that_repairs_often_gets_higher_odds_and_one_that_does_not_gets_lower_ones():
    counted = [tried("sign", i < 10) for i in range(100)] + [tried("cast", False) for _ in range(900)]
    after = parsed(dumped(fitted(PRESENT, counted, prior=100)))
    before = parsed(TEXT)
    assert after.of("sign", 0) > 5 * before.of("sign", 0) and after.of("cast", 0) < before.of("cast", 0)
    assert after.of("sign", 1) == before.of("sign", 1) and after.kinds["name"] == before.kinds["name"]


def test_a_factor_compares_repairs_with_those_that_the_odds_predict():
    often = [tried("comparison", i < 30, "mask", "ragged", "repeated") for i in range(100)]
    seldom = [tried("comparison", False) for _ in range(900)]
    after = fitted(PRESENT, often + seldom, prior=1)
    assert after["tags"]["ragged"]["comparison"] > PRESENT["tags"]["ragged"]["comparison"]
    assert after["about"]["any"]["mask"] != PRESENT["about"]["any"]["mask"]
    assert after["factors"]["heads"] == PRESENT["factors"]["heads"]


def test_edits_of_an_answer_of_the_corpus_are_tried():
    number = wrong_entries().index(find_entry("row_sum", "loop starts at BLOCK"))
    found = tried_edits(number, most=5)
    assert len(found) == 5 and all(one.kind in PRESENT["kinds"] for one in found)
