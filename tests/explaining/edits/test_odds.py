"""odds.json: every kind of edit has its odds, and no figure is of a kind that does not exist."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from flashlearn.explaining import (
    edits,
    waits,  # noqa: F401  (brings the kinds of Gluon kernels)
)
from flashlearn.explaining.edits.edit import EDIT_KINDS, edit_kind
from flashlearn.explaining.edits.ranking import odds

DATA = json.loads(files(edits).joinpath("odds.json").read_text(encoding="utf-8"))


def test_every_kind_of_edit_has_odds_and_every_kind_with_odds_exists():
    assert odds().kinds.keys() == EDIT_KINDS.keys()


def test_factors_are_of_kinds_that_exist():
    kinds = {kind for table in (*odds().tags.values(), *odds().cases.values()) for kind in table}
    assert kinds <= EDIT_KINDS.keys()


def test_every_figure_says_whether_it_was_counted():
    assert all(entry["source"].startswith(("corpus", "by hand")) for entry in DATA["kinds"].values())


def test_odds_are_positive_and_those_of_a_rare_variant_decrease():
    table = odds()
    assert all(min(variants) > 0 for variants in table.kinds.values())
    assert table.of("sign", 0) > table.of("sign", 1) > table.of("sign", 2) > table.of("sign", 3) > 0


def test_a_kind_is_declared_once():
    with pytest.raises(ValueError, match="two kinds of edit are named 'sign'"):
        edit_kind("sign", question="Which?")


def test_a_kind_that_repeats_as_another_names_one_that_exists():
    assert {kind.repeats_as for kind in EDIT_KINDS.values()} - {""} <= EDIT_KINDS.keys()


@pytest.mark.parametrize("kind", EDIT_KINDS.values(), ids=lambda kind: kind.name)
def test_a_sentence_has_a_place_for_the_line_and_for_the_old_text_or_the_new(kind):
    filled = kind.sentence.format(line=7, old="a < b", new="a <= b")
    assert "7" in filled and "{" not in filled and "; " in filled
    assert kind.question.endswith(("?", "."))
