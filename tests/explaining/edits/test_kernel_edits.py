"""Edits of types, guards, offsets and strides: each is proposed where it applies, and nowhere else."""

from __future__ import annotations

from dataclasses import replace

import pytest

from flashlearn.exercise import Case
from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.ranking import Hints, ranked
from flashlearn.outcome import Outcome, OutputCheck, Status

KERNEL = """
@triton.jit
def kernel(x_ptr, y_ptr, n, columns, stride_row, stride_column, CAUSAL: tl.constexpr, BLOCK: tl.constexpr):
    me = tl.program_id(0)
    cols = me + tl.arange(0, BLOCK) * tl.num_programs(0)
    end = n
    if CAUSAL:
        end = tl.minimum(n, me * BLOCK + 1)
    total = tl.zeros([BLOCK], tl.float16)
    for start in range(0, end, BLOCK):
        x = tl.load(x_ptr + start * stride_row + cols, mask=cols < columns, other=0.0)
        total += tl.sum(tl.exp(x - total), axis=0).to(tl.float16)
    tl.store(y_ptr + cols, x / total)
"""
TORCH = "def f(a, b, m):\n    return torch.exp(a - m) + torch.exp(b - m), a / b, a / 2"


def made(text: str, kind: str) -> set[tuple[str, str]]:
    return {(edit.old, edit.new) for edit in edits_of(text.strip()) if edit.kind.name == kind}


def test_a_start_that_a_while_loop_moves_on_may_have_to_be_at_least_0():
    text = "@triton.jit\ndef f(x, n, s):\n    i = n - s\n    while i < n:\n        x += i\n        i += 8\n"
    assert made(text, "negative start") == {("n - s", "tl.maximum(n - s, 0)")}


def test_the_axis_of_a_mask_is_exchanged_with_its_brackets():
    text = "@triton.jit\ndef f(x, rows, n):\n    return tl.where((rows < n)[None, :], x, 0.0)\n"
    assert made(text, "broadcast axis") == {("(rows < n)[None, :]", "(rows < n)[:, None]")}


def test_a_loop_of_chunks_is_rounded_up_like_one_of_blocks():
    text = "@triton.jit\ndef f(x, n, CHUNK):\n    for i in range(n // CHUNK):\n        x += i\n"
    assert [e.variant for e in edits_of(text) if e.kind.name == "round up"] == [0]


def test_a_name_that_nothing_reads_is_likely_to_be_the_one_meant():
    text = "@triton.jit\ndef f(x, i, j):\n    near = i - j\n    far = i + j\n    return x * near - i\n"
    edits = [(0, edit) for edit in edits_of(text) if edit.old == "near"]
    unread = {edit.new for _, edit in edits if edit.reads_unread}
    assert unread == {"far"}


def test_a_stride_that_is_multiplied_by_itself_is_taken_out_and_not_exchanged():
    text = KERNEL.strip().replace("start * stride_row", "start * stride_row * stride_row")
    changed = [
        e for e in edits_of(text) if "stride_row" in e.old and e.kind.name in ("name", "redundant operand")
    ]
    assert not any(e.kind.name == "name" for e in changed)
    assert ("start * stride_row * stride_row", "start * stride_row") in {(e.old, e.new) for e in changed}


def test_interleaved_lanes_become_contiguous():
    interleaved = "me + tl.arange(0, BLOCK) * tl.num_programs(0)"
    assert (interleaved, "me * BLOCK + tl.arange(0, BLOCK)") in made(KERNEL, "index not scaled")
    right = KERNEL.replace(interleaved, "me * BLOCK + tl.arange(0, BLOCK)")
    assert not any("arange" in new for _, new in made(right, "index not scaled"))


def test_an_accumulator_in_half_precision_and_what_is_added_to_it_are_widened_together():
    (edit,) = (e for e in edits_of(KERNEL.strip()) if e.new == "tl.float32" and e.also)
    assert "float16" not in edit.applied(KERNEL.strip()) and len(edit.also) == 1


def test_integers_and_infinities_are_not_widened():
    text = '@triton.jit\ndef k(x_ptr, n):\n    i = n.to(tl.int64)\n    m = tl.full([4], -float("inf"), i)\n'
    assert not made(text, "narrow cast") and not made(text, "dtype")


def test_an_index_without_a_stride_gets_one_that_is_not_used_yet():
    found = made(KERNEL, "strides")
    assert ("cols", "cols * stride_column") in found and ("cols", "cols * stride_row") not in {
        (old, new) for old, new in found if "x_ptr" in old
    }
    assert not made(
        KERNEL.replace("+ cols,", "+ cols * stride_column,").replace("y_ptr + cols", "y_ptr"), "strides"
    )


def test_an_index_without_a_stride_gets_one_where_no_pointer_is_in_the_line():
    text = """@triton.jit
def k(a_ptr, b_ptr, M, d0, d1, stride_am, stride_an, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    at = i + j * stride_an
    a = tl.load(a_ptr + at, mask=j < M)
    tl.store(b_ptr + i * d0 + j, a)
"""
    assert ("i", "i * stride_am") in made(text, "strides"), (
        "a stride of the function, in a line of strides alone"
    )
    assert ("j", "j * d1") in made(text, "strides"), "a parameter that nothing reads"
    assert ("j", "j * M") not in made(text, "strides"), "a bound is no stride"


def test_a_value_that_nothing_reads_is_tried_for_any_name():
    text = """@triton.jit
def k(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i)
    y = tl.load(y_ptr + i)
    tl.store(x_ptr + i, x + i)
"""
    assert ("i", "y") in made(text, "name") and ("i", "x") not in made(text, "name")
    assert not any(old.endswith("_ptr") and new == "y" for old, new in made(text, "name"))


def test_a_sign_goes_with_the_number_that_becomes_0():
    text = "def f(x, j, n):\n    return sp.Sum(x, (j, -1, n - 1))"
    assert ("-1", "0") in made(text, "constant")
    assert not any("-0" in edit.applied(text) for edit in edits_of(text))


def test_one_more_block_is_an_edit_of_brackets():
    assert ("me * BLOCK + 1", "(me + 1) * BLOCK") in made(KERNEL, "brackets")


def test_a_mask_written_out_in_one_access_is_tried_in_another():
    assert any("mask=(cols < columns)" in new for _, new in made(KERNEL, "missing mask"))


def test_a_mask_of_one_dimension_gets_the_condition_of_the_other_along_either_axis():
    text = """@triton.jit
def k(a_ptr, b_ptr, i, j, am, ak, M, K):
    a = tl.load(a_ptr + i[:, None] * am, mask=(i < M)[:, None])
    b = tl.load(b_ptr + j[:, None] * ak, mask=(j < K)[:, None] & (i < M)[None, :])
"""
    assert ("(i < M)[:, None]", "(i < M)[:, None] & (j < K)[None, :]") in made(text, "partial mask")
    whole = text.replace("mask=(i < M)[:, None])", "mask=(i < M)[:, None] & (j < K)[None, :])")
    assert not any("(j < K)[None, :] & (j < K)[None, :]" in new for _, new in made(whole, "partial mask"))


def test_factors_of_indices_are_strides_unless_they_bound_something():
    text = """@triton.jit
def k(a_ptr, b_ptr, i, j, am, bm, M):
    a = tl.load(a_ptr + i[:, None] * am + j[None, :], mask=i[:, None] < M)
    b = tl.load(b_ptr + i[:, None] * bm + j[None, :] * M)
"""
    names = made(text, "name")
    assert ("am", "bm") in names and ("am", "M") not in names and ("M", "bm") not in names


def test_an_exponential_and_a_quotient_are_guarded():
    found = made(KERNEL, "missing guard")
    assert ("total", 'tl.where(total == -float("inf"), 0.0, total)') in found
    assert ("total", "tl.where(total == 0.0, 1.0, total)") in found
    assert ("torch.exp(a - m)", "torch.nan_to_num(torch.exp(a - m), nan=0.0)") in made(TORCH, "missing guard")
    assert not any(old == "2" for old, _ in made(TORCH, "missing guard"))


@pytest.mark.parametrize(
    "apart, joined",
    [
        ("tl.exp(a) * tl.exp(b)", "tl.exp(a + b)"),
        ("tl.exp(a) * tl.exp(-b)[:, None]", "tl.exp(a - b[:, None])"),
        ("tl.exp(a) / tl.exp(b + c)", "tl.exp(a - (b + c))"),
        ("tl.exp2(-a) / tl.exp2(-b)", "tl.exp2(-a + b)"),
    ],
)
def test_a_product_of_exponentials_becomes_the_exponential_of_a_sum(apart, joined):
    assert made(f"def f(a, b, c):\n    return {apart}", "exponentials apart") == {(apart, joined)}


def test_exponentials_of_two_bases_stay_apart():
    assert not made("def f(a, b):\n    return tl.exp(a) * tl.exp2(b)", "exponentials apart")


def test_a_function_of_sympy_is_removed_from_its_argument():
    assert ("sp.log(m)", "m") in made("def f(m, l):\n    return sp.log(m) + sp.log(l)", "redundant call")


def test_axes_of_a_block_pointer_are_exchanged():
    text = "@triton.jit\ndef k(p, B: tl.constexpr):\n    p = tl.advance(p, (0, B))\n    x = tl.load(p)\n"
    assert ("0, B", "B, 0") in made(text, "argument order")
    assert not any("boundary_check" in new for _, new in made(text, "missing mask"))


def test_a_limit_of_sizes_is_exchanged_early_and_a_loop_s_bound_late():
    text = (
        "@triton.jit\ndef f(x, n, rows, GROUP: tl.constexpr):\n    first = rows * GROUP\n"
        "    height = tl.maximum(n - first, GROUP)\n    wide = min(n, GROUP)\n    end = tl.maximum(n, rows)\n"
        "    for i in range(0, end):\n        x += tl.maximum(height, x)\n"
    )
    variants = {e.new: e.variant for e in edits_of(text) if e.kind.name == "function"}
    early = {"tl.minimum(n - first, GROUP)": 0, "max(n, GROUP)": 0}
    assert variants == early | {"tl.minimum(n, rows)": 1, "tl.minimum(height, x)": 1}


CASE = Case("S 4, causal")


def outcome(status: Status, error: float = 1.0, name: str = "S 4, causal") -> Outcome:
    check = OutputCheck("s", status is Status.PASS, error=error)
    return Outcome(replace(CASE, name=name), status, outputs=(check,))


def kinds(*outcomes: Outcome) -> list[str]:
    return [
        e.kind.name for _, e in ranked(((0, e) for e in edits_of(KERNEL.strip())), outcomes, Hints([None]))
    ]


@pytest.mark.parametrize(
    ("kind", "with_it", "without"),
    [
        ("missing guard", outcome(Status.WRONG, float("nan")), outcome(Status.WRONG)),
        ("atomic add", outcome(Status.RACE), outcome(Status.WRONG)),
    ],
)
def test_a_guard_is_tried_where_there_is_nan_and_an_atomic_addition_where_programs_race(
    kind, with_it, without
):
    assert kind in kinds(with_it) and kind not in kinds(without)


def test_if_only_causal_cases_are_wrong_the_causal_branch_is_tried_sooner():
    plain = kinds(outcome(Status.WRONG), outcome(Status.WRONG, name="S 8, causal")).index("brackets")
    masked = kinds(outcome(Status.WRONG), outcome(Status.PASS, name="S 4")).index("brackets")
    assert masked < plain


@pytest.mark.parametrize(
    ("call", "edited"),
    [
        ("x.new_empty((n, 4))", "x.new_empty((n, 4), dtype=torch.float32)"),
        ("torch.empty_like(x)", "torch.empty_like(x, dtype=torch.float32)"),
        ("torch.zeros_like(\n        x,\n    )", "torch.zeros_like(\n        x, dtype=torch.float32)"),
    ],
)
def test_an_allocation_with_the_dtype_of_an_input_gets_fp32(call, edited):
    text = f"def f(x, n):\n    partials = {call}\n    return partials\n"
    assert edited in {edit.new for edit in edits_of(text) if edit.kind.name == "dtype"}


def test_an_allocation_that_has_a_dtype_gets_no_second_one():
    text = "def f(x, n):\n    return x.new_empty((n,), dtype=x.dtype)\n"
    assert {edit.new for edit in edits_of(text) if edit.kind.name == "dtype"} == {"torch.float32"}


def test_the_axes_of_a_grid_change_places_and_what_is_unpacked_does_not():
    grid = (
        "def f(M, N):\n    grid = (triton.cdiv(N, 16), triton.cdiv(M, 16))\n    M, N = N, M\n    return grid"
    )
    axes = "triton.cdiv(N, 16), triton.cdiv(M, 16)", "triton.cdiv(M, 16), triton.cdiv(N, 16)"
    assert made(grid, "grid order") == {axes}


def test_what_is_put_into_a_product_stays_one_operand():
    text = "def f(a, b, c):\n    return (a + b) // c * c"
    after = [edit.applied(text).partition("return ")[2] for edit in edits_of(text)]
    assert "(a + b) * c" in after and "a + b * c" not in after


@pytest.mark.parametrize(
    ("text", "odd"),
    [
        ("def f(K, N, B_K):\n    B = K * N\n    return N * blocks(K, B_K) + B", "blocks(K, B)"),
        ("def f(m, size):\n    return m * size / 4", "m * size / size"),
    ],
)
def test_a_formula_is_repaired_by_no_number_that_only_happens_to_make_one(text, odd):
    assert not any(odd in edit.applied(text) for edit in edits_of(text))


def test_the_bound_of_another_sum_is_tried():
    text = "def f(P, d, S_k, D):\n    return sp.Sum(P[0, d], (d, 0, S_k - 1))"
    assert ("S_k - 1", "D - 1") in made(text, "other bound")


def test_a_difference_of_names_in_a_sum_is_turned_round():
    assert ("rows + n - k", "rows + k - n") in made(
        "def f(rows, n, k):\n    return rows + n - k\n", "other difference"
    )
    assert ("rows - n + k", "rows - k + n") in made(
        "def f(rows, n, k):\n    return rows - n + k\n", "other difference"
    )
    assert not made("def f(rows, n):\n    return rows + n - 1\n", "other difference")
