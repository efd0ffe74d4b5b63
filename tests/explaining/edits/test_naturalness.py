"""An edit that may help by luck gives way to a natural one, and is never said to be the mistake."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.alternatives import _is_limited
from flashlearn.explaining.edits.naturalness import Naturalness, bound_lines, naturalness
from flashlearn.explaining.findings.edits import DOUBT, OneEdit

KERNEL = """
@triton.jit
def kernel(q_ptr, o_ptr, S_q, S_k, H, D, scale, BLOCK_Q: tl.constexpr, BLOCK_K: tl.constexpr):
    first = tl.program_id(0) * BLOCK_Q
    end = tl.minimum(S_k, first + BLOCK_K + S_k - S_q)
    start = tl.maximum(first - S_q, 0)
    total = tl.zeros((BLOCK_Q,), tl.float32)
    for k in range(start, end, BLOCK_K):
        q = tl.load(q_ptr + k * D)
        total += tl.sum(q + S_q, axis=0) * scale
    tl.store(o_ptr + first, total)
"""


def of_line(line: int, old: str, new: str):
    found = [e for e in edits_of(KERNEL) if (e.line, e.old, e.new) == (line, old, new) and not e.also]
    assert found, f"no edit puts {new} in the place of {old} in line {line}"
    return naturalness(KERNEL, found[0])


def test_the_lines_that_bound_a_loop_are_found_through_what_computes_them():
    assert bound_lines(KERNEL) == {4, 5, 6, 8}


@pytest.mark.parametrize(
    ("line", "old", "new", "level"),
    [
        (5, "BLOCK_K", "BLOCK_Q", Naturalness.NATURAL),
        (5, "S_q", "H", Naturalness.ODD),
        (8, "start", "0", Naturalness.ODD),
        (5, "tl.minimum(S_k, first + BLOCK_K + S_k - S_q)", "S_k", Naturalness.ODD),
        (5, "first + BLOCK_K + S_k - S_q", "first + BLOCK_K + S_q - S_k", Naturalness.NATURAL),
        (10, "S_q", "H", Naturalness.UNUSUAL),
        (9, "tl.load(q_ptr + k * D)", "tl.load(q_ptr + k * D).to(tl.float32)", Naturalness.UNUSUAL),
        (10, "tl.sum(q + S_q, axis=0)", "tl.sum(q + S_q, axis=1)", Naturalness.NATURAL),
    ],
)
def test_a_change_of_a_loop_s_bounds_is_odd_unless_it_exchanges_similar_names(line, old, new, level):
    assert of_line(line, old, new) is level


def test_another_block_size_or_group_may_only_avoid_the_mistake():
    launcher = "def f(x):\n    kernel[(4,)](x, x.shape[0], GROUP=2)\n    return x.sum(0)\n"
    edits = {(e.old, e.new): e for e in edits_of(launcher) if e.line == 2}
    assert naturalness(launcher, edits["2", "1"]) is Naturalness.ODD
    assert naturalness(launcher, edits["0", "1"]) is Naturalness.NATURAL


def test_a_block_that_is_named_after_the_length_it_divides_is_not_said_to_be_the_mistake():
    launcher = "def f(x, N, BLOCK_N, BLOCK_K):\n    kernel[(triton.cdiv(N, BLOCK_N),)](x, TN=BLOCK_K)\n"
    edits = {(e.old, e.new): e for e in edits_of(launcher)}
    assert naturalness(launcher, edits["BLOCK_N", "BLOCK_K"]) is Naturalness.ODD
    assert naturalness(launcher, edits["BLOCK_K", "BLOCK_N"]) is Naturalness.NATURAL


def test_a_doubtful_edit_is_not_printed_and_only_its_line_is_told():
    sure = OneEdit("name", 5, "S_q", "H", 5, quoted=("S_k - S_q", "S_k - H"))
    doubtful = OneEdit("name", 5, "S_q", "H", 5, quoted=("S_k - S_q", "S_k - H"), doubt=True)
    assert sure.wording().sentence == "Line 5 has `S_k - S_q`; with `S_k - H` all 5 failing cases pass."
    assert doubtful.wording().sentence == (f"All 5 failing cases pass once line 5 is changed; {DOUBT}.")
    assert "lines 5 and 8 are changed" in replace(doubtful, also=(8, 5)).wording().sentence
    assert doubtful.wording().next_step != sure.wording().next_step


def test_brackets_in_a_bound_that_add_no_access_where_all_was_right_are_not_doubted():
    text = KERNEL.replace("first + BLOCK_K", "tl.program_id(0) * BLOCK_Q + 1")
    moved = ("tl.program_id(0) * BLOCK_Q + 1", "(tl.program_id(0) + 1) * BLOCK_Q")
    (edit,) = (one for one in edits_of(text) if one.line == 5 and (one.old, one.new) == moved)
    assert edit.kind.name == "brackets" and naturalness(text, edit) is Naturalness.ODD
    assert _is_limited(SimpleNamespace(superfluous=False), text, edit)
    assert not _is_limited(SimpleNamespace(superfluous=True), text, edit)


FORMULA = """
def gradients(q, k, v, alpha):
    scaled = alpha * q
    dv = alpha * v
    dk = scaled * k
    return dk, dv
"""


def levels(line: int, new: str) -> set[Naturalness]:
    return {naturalness(FORMULA, e) for e in edits_of(FORMULA) if e.line == line and e.new == new}


def test_a_value_that_is_right_is_no_place_for_a_factor_that_lacks_where_it_is_used():
    assert levels(3, "(alpha * q) * alpha") == {Naturalness.UNUSUAL}
    assert levels(5, "(scaled * k) * alpha") == {Naturalness.NATURAL}


def test_a_line_that_returns_names_is_not_where_a_factor_is_wrong():
    assert levels(6, "dv / alpha") | levels(6, "(v)") == {Naturalness.UNUSUAL}
    assert levels(4, "v") == {Naturalness.NATURAL}


def test_a_second_mention_of_a_summand_may_stand_in_for_one_of_equal_size():
    text = "def f(n, block, row):\n    k = n * block * row\n    v = block * row\n    return row + k + v\n"
    (twice,) = [e for e in edits_of(text) if e.line == 4 and (e.old, e.new) == ("v", "k")]
    assert naturalness(text, twice) is Naturalness.UNUSUAL


def test_a_size_of_1_is_odd_for_it_is_right_by_broadcasting():
    text = "def f(q):\n    rows, width = q.shape\n    return q.new_zeros(rows, width - 1) + q"
    found = {e.new: naturalness(text, e) for e in edits_of(text) if e.kind.name == "redundant operand"}
    assert found["1"] is Naturalness.ODD


def test_a_guard_that_masked_fill_gives_may_test_for_something_else():
    text = "def f(m, x):\n    w = torch.exp(m - x).masked_fill(m == math.inf, 0.0)\n    return w"
    guards = [e for e in edits_of(text) if e.kind.name == "missing guard"]
    assert {naturalness(text, e) for e in guards} == {Naturalness.UNUSUAL}


def test_an_edit_that_makes_a_shift_vanish_or_halves_a_rounding_is_odd():
    function = "def f(n, S_q, S_k, B):\n    shift = n + S_q - S_k\n    return (shift + B - 1) // B\n"
    edits = {(e.line, e.old, e.new): e for e in edits_of(function) if not e.also}
    assert naturalness(function, edits[2, "S_k", "S_q"]) is Naturalness.ODD
    assert naturalness(function, edits[2, "S_q", "S_k"]) is Naturalness.ODD
    assert naturalness(function, edits[3, "shift + B", "shift"]) is Naturalness.ODD


def test_a_remainder_in_the_place_of_a_quotient_is_natural_in_a_loop_s_bounds_too():
    loop = "def f(n, B):\n    start = n % B\n    for i in range(start, n):\n        print(i)\n"
    edits = [e for e in edits_of(loop) if (e.line, e.new) == (2, "n // B")]
    assert [naturalness(loop, e) for e in edits[:1]] == [Naturalness.NATURAL]


def test_exchanged_sides_may_make_up_for_a_wrong_condition():
    kernel = "def f(m):\n    top = tl.where(m > 9, m, 0.0)\n    return top\n"
    edits = [e for e in edits_of(kernel) if e.kind.name == "argument order" and e.new.startswith("0.0")]
    assert [naturalness(kernel, e) for e in edits] == [Naturalness.UNUSUAL]


def test_a_length_in_the_place_of_a_computed_bound_is_odd():
    head = "@triton.jit\ndef f(x, s, S_q, BM: tl.constexpr):\n"
    text = f"{head}    free = tl.cdiv(tl.maximum(x - s, 0), BM)\n    return free + S_q\n"
    sizes = [e for e in edits_of(text) if e.kind.name == "wrong size" and e.new == "S_q"]
    assert {naturalness(text, e) for e in sizes} == {Naturalness.ODD}
