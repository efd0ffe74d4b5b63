"""A mask that asks for a limited index hides nothing: that is said where it is certain, and only there."""

from __future__ import annotations

import pytest

from flashlearn import check
from flashlearn.explaining.divergence.clamped import comparison_without_effect
from tests.corpus import wrong_entries

KERNEL = """def f(start, S_q, S_k):
    rows = start + tl.arange(0, 16)
    safe = {limit}
    seen = (safe {operator} S_q)[:, None]
"""


def found(limit: str, operator: str = "<", more: str = "") -> tuple[str, str, int] | None:
    source = KERNEL.format(limit=limit, operator=operator) + more
    return comparison_without_effect(source, "f", 4)


@pytest.mark.parametrize(
    "limit", ["tl.minimum(rows, S_q - 1)", "tl.minimum(S_q - 1, rows)", "min(rows, S_q - 1)"]
)
def test_a_limited_index_is_always_below_its_bound(limit):
    assert found(limit) == ("safe < S_q", "safe", 3)


@pytest.mark.parametrize(
    ("limit", "operator", "more"),
    [
        ("tl.minimum(rows, S_q)", "<", ""),
        ("tl.minimum(rows, S_k - 1)", "<", ""),
        ("tl.maximum(rows, S_q - 1)", "<", ""),
        ("tl.minimum(rows, S_q - 1)", ">", ""),
        ("tl.minimum(rows, S_q - 1)", "<", "    safe = rows\n"),
        ("tl.minimum(rows, S_q - 1)", "<", "    S_q += 1\n"),
        ("tl.minimum(rows, S_q - 1)", "<", "    %magic\n"),
    ],
)
def test_nothing_is_said_of_a_comparison_that_may_be_false(limit, operator, more):
    assert found(limit, operator, more) is None


def test_a_patient_whose_mask_asks_the_limited_rows_is_told_that_it_hides_nothing():
    (entry,) = (
        e for e in wrong_entries() if f"{e.exercise}/{e.title}" == "clinic_4/mask of the clamped rows"
    )
    report = check("clinic_4", entry.function, demo=True)
    assert "`safe < S_q` is true for every lane" in report.sentence
