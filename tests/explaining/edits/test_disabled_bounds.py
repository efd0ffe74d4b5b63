"""An edit that repairs an answer by superfluous work is no explanation of it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.disabled_bounds import (
    _without_a_bound,
    disables_a_bound,
    multiplies_a_length,
)
from flashlearn.explaining.edits.search import find_edit
from flashlearn.explaining.edits.verification import wasteful
from flashlearn.judging.cases import run
from flashlearn.lessons import find
from flashlearn.running.answer import Here
from tests.corpus import function_from_text

KERNEL = """@triton.jit
def kernel(x_ptr, S_q, S_k, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    first = tl.maximum(pid * BLOCK - (S_k - S_q), 0)
    end = pid * BLOCK + S_k
    for start in range(first, tl.minimum(S_k, end), BLOCK):
        tl.store(x_ptr + start, start)
"""


class Counted:
    """A trial that counts `full` accesses where a bound is left out, and `limited` otherwise."""

    def __init__(self, limited: int, full: int):
        self.wrong = [SimpleNamespace(observation=None)]
        self.limited, self.full = limited, full

    def accesses(self, section, text, outcome):
        bounded = "tl.maximum(" in text and "range(first" in text
        return self.limited if bounded else self.full


def edit_of(line: int, kind: str):
    return next(e for e in edits_of(KERNEL) if e.line == line and e.kind.name == kind and not e.also)


def test_a_bound_is_left_out_only_where_the_edited_line_decides_it():
    of_first = set(_without_a_bound(KERNEL, 4))
    of_end = set(_without_a_bound(KERNEL, 5))
    assert KERNEL.replace("range(first", "range(0") in of_first
    assert KERNEL.replace("tl.minimum(S_k, end)", "S_k") in of_end
    assert not of_first & of_end


@pytest.mark.parametrize(("limited", "full", "disabled"), [(4, 4, True), (3, 4, False)])
def test_a_bound_is_disabled_if_without_it_no_access_is_added(limited, full, disabled):
    edit = edit_of(4, "operand order")
    assert disables_a_bound(Counted(limited, full), 0, KERNEL, edit) is disabled


def test_a_size_times_a_block_disables_a_bound_and_a_change_elsewhere_does_not():
    edit = next(e for e in edits_of(KERNEL) if e.line == 5 and e.new == "(pid + S_k) * BLOCK")
    assert disables_a_bound(Counted(3, 4), 0, KERNEL, edit)
    assert not disables_a_bound(Counted(4, 4), 0, KERNEL, edit_of(7, "redundant operand"))


@pytest.mark.parametrize(
    ("data", "accesses", "waste"), [("normal", 10, False), ("normal", 60, True), ("zeros", 60, False)]
)
def test_a_case_that_passed_needs_no_more_accesses_unless_its_numbers_hide_what_is_missing(
    data, accesses, waste
):
    seen = SimpleNamespace(accesses=10, timeline=())
    outcome = SimpleNamespace(observation=seen, case=SimpleNamespace(data=data))
    assert wasteful(outcome, accesses) is waste


OVERWRITTEN = """
@triton.jit
def row_sum_kernel(x_ptr, s_ptr, N, row, column, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    total = 0.0
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK).to(tl.int64)
        x = tl.load(x_ptr + i * row + j * column, mask=j < N, other=0.0).to(tl.float32)
        total = tl.sum(x, axis=0)
    tl.store(s_ptr + i, total)


def row_sum(x):
    rows, N = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(rows,)](x, s, N, *x.stride(), BLOCK=16)
    return s
"""


def test_a_tile_as_long_as_the_row_is_no_repair_of_a_loop():
    """With one iteration nothing is overwritten, so a larger tile avoids the mistake."""
    exercise, function = find("row_sum"), function_from_text(OVERWRITTEN)
    answer = Here(function, exercise)
    finding = find_edit(exercise, answer, run(exercise, answer))
    assert finding is not None and finding.facts["new"].startswith("total += ")


def test_a_length_times_a_block_is_no_bound():
    text = """@triton.jit
def f(x, S_k, Bc: tl.constexpr):
    i = tl.program_id(0)
    end = (i + 1) * Bc + S_k
    for j in range(0, end, Bc):
        x += j
"""
    products = [edit for edit in edits_of(text) if edit.kind.name == "brackets"]
    beyond = [edit.new for edit in products if multiplies_a_length(text, edit)]
    assert "(i + 1 + S_k) * Bc" in beyond and len(products) > len(beyond)
