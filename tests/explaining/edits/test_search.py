"""One edit that repairs every case: it is found, verified and reported, and not where there is none."""

import pytest
import torch

import flashlearn
from flashlearn.explaining.edits.line_of_mistake import find_line
from flashlearn.explaining.edits.search import find_edit
from flashlearn.judging.cases import run
from flashlearn.lessons import find
from flashlearn.running.answer import Here
from flashlearn.running.run_modes import Edited
from tests.corpus import function_from_text

ROW_SUM = find("row_sum")

RIGHT = """
@triton.jit
def sums_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    total = 0.0
    for start in range(0, columns, BLOCK):
        cols = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * stride_row + cols * stride_column, mask=cols < columns, other=0.0)
        total += tl.sum(x.to(tl.float32), axis=0)
    tl.store(s_ptr + row, total)


def row_sum(x):
    s = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    sums_kernel[(x.shape[0],)](x, s, x.shape[1], x.stride(0), x.stride(1), BLOCK=16)
    return s
"""


def found_in(text: str):
    function = function_from_text(text)
    answer = Here(function, ROW_SUM)
    return find_edit(ROW_SUM, answer, run(ROW_SUM, answer)), function


def with_mistake(old: str, new: str) -> str:
    assert RIGHT.count(old) == 1
    return RIGHT.replace(old, new)


def test_the_edit_that_corrects_a_mistake_is_found_with_its_line():
    finding, function = found_in(with_mistake("range(0, columns, BLOCK)", "range(BLOCK, columns, BLOCK)"))
    assert finding.facts["old"] == "BLOCK" and finding.facts["new"] == "0"
    assert finding.place.text.strip() == "for start in range(BLOCK, columns, BLOCK):"
    assert finding.place.line == finding.facts["line"] and finding.place.file == function.__code__.co_filename
    assert finding.fits == finding.of == finding.facts["cases"]


def test_a_read_out_of_bounds_is_traced_to_the_edit_that_prevents_it():
    finding, _ = found_in(with_mistake("cols < columns", "cols <= columns"))
    assert finding.facts["new"] == "cols < columns"
    assert "compares `cols <= columns`" in finding.sentence


def test_a_mistake_in_the_launcher_is_found():
    finding, _ = found_in(with_mistake("x.stride(0), x.stride(1)", "x.stride(1), x.stride(0)"))
    assert finding.place.function == "row_sum"


def test_no_edit_is_reported_where_none_repairs_the_answer():
    text = with_mistake(
        "total += tl.sum(x.to(tl.float32), axis=0)", "total += tl.sum(x * x + 3.0 * x, axis=0)"
    )
    assert found_in(text)[0] is None


def test_no_edit_of_a_right_answer_is_tried():
    assert found_in(RIGHT)[0] is None


def test_a_closure_is_not_edited():
    offset = torch.tensor(1.0)

    def row_sum(x):
        return x.sum(1) + offset

    answer = Here(row_sum, ROW_SUM)
    assert find_edit(ROW_SUM, answer, run(ROW_SUM, answer)) is None


def test_the_learner_s_namespace_stays_as_it_was():
    function = function_from_text(with_mistake("range(0, columns, BLOCK)", "range(BLOCK, columns, BLOCK)"))
    before = dict(function.__globals__)
    flashlearn.check("row_sum", function, demo=True)
    assert function.__globals__ == before


def test_a_check_reports_the_edit():
    function = function_from_text(with_mistake("s_ptr + row", "s_ptr + row * stride_row"))
    report = flashlearn.check("row_sum", function, demo=True)
    assert report.finding.kind.name == "and one edit"
    assert "row * stride_row" in report.sentence and "failing cases pass" in report.sentence


def test_a_formula_is_edited_as_well():
    text = """
def softmax_jacobian(p):
    K = len(p)
    return sp.Matrix(K, K, lambda k, j: p[k] * (1 - p[k]) if k == j else -p[k] * p[j]) + sp.eye(K)
"""
    report = flashlearn.check("softmax_jacobian", function_from_text(text), demo=True)
    assert report.finding.kind.name == "one edit"
    assert report.finding.fits == report.finding.of == len(report.outcomes)


MERGE = """
def merge_partials_torch(m_a, l_a, acc_a, m_b, l_b, acc_b):
    m = torch.maximum(m_a, m_b)
    unit = m.masked_fill(m == -math.inf, 0.0)
    w_a, w_b = torch.exp(m_a + unit), torch.exp(m_b - unit)
    both_l = torch.stack([acc_a, l_b])
    l = w_a * both_l[0] + w_b * both_l[1]
    return m, l, w_a[:, None] * acc_a + w_b[:, None] * acc_b
"""


def test_an_edit_that_only_ends_a_crash_is_not_offered_for_an_output_that_no_case_shows_wrong():
    report = flashlearn.check("merge_partials_torch", function_from_text(MERGE), demo=True)
    assert not report.passed and "output m is right" not in str(report)


def test_an_edit_that_makes_a_loop_endless_is_stopped_by_its_accesses():
    endless = RIGHT.replace("for start in range(0, columns, BLOCK):", "start = 0\n    while start < columns:")
    function = function_from_text(endless)  # without the line that moves start on
    answer = Here(function, ROW_SUM)
    inputs = {"x": torch.ones(2, 20)}
    evidence = answer.run(inputs, Edited(0, answer.sections()[0].text, most=300, limit=60.0))
    assert evidence.raised.kind == "TimeLimit"


COLUMN_SUMS = """
@triton.jit
def sums_kernel(dy_ptr, db_ptr, M, N, row, column, TALL: tl.constexpr, WIDE: tl.constexpr):
    j = tl.program_id(0) * WIDE + tl.arange(0, WIDE)
    total = tl.zeros([WIDE], tl.float32)
    for first in range(0, M, TALL):
        i = first + tl.arange(0, TALL)
        here = (i < M)[:, None] & (j < N)[None, :]
        dy = tl.load(dy_ptr + i[:, None] * row + j[None, :] * column, mask=here, other=0.0)
        total = tl.sum(dy.to(tl.float16), axis=0).to(tl.float32)
    tl.store(db_ptr + j, total, mask=j < N)


def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    sums_kernel[(triton.cdiv(N, 32),)](dy, db, M, N, *dy.stride(), TALL=64, WIDE=32)
    return db
"""


def test_two_mistakes_are_reported_with_the_edits_that_repair_both():
    """The rounding shows in short columns by itself, the lost tiles in long ones alone."""
    exercise, function = find("bias_gradient"), function_from_text(COLUMN_SUMS)
    answer = Here(function, exercise)
    finding = find_edit(exercise, answer, run(exercise, answer))
    assert finding.kind.name == "two edits" and finding.facts["reached"] < finding.facts["cases"]
    assert finding.parts[0].facts["new"] == "tl.float32" and "+=" in finding.parts[1].facts["new"]
    assert "as well, all pass" in finding.sentence


def test_an_address_and_a_number_that_are_both_wrong_are_both_named():
    text = with_mistake("cols * stride_column", "cols").replace("other=0.0", "other=1.0")
    report = flashlearn.check("row_sum", function_from_text(text), demo=True)
    assert (
        report.finding.kind.name == "and one edit" and report.finding.parts[1].kind.name == "edit and mistake"
    )
    assert "cols * stride_column`" in report.sentence and "(1) Line" in report.sentence


def test_a_wrong_address_alone_is_not_two_mistakes():
    report = flashlearn.check(
        "row_sum", function_from_text(with_mistake("cols * stride_column", "cols")), demo=True
    )
    assert "two mistakes" not in report.sentence and "cols * stride_column`" in report.sentence


IN_TWO_FUNCTIONS = """
@triton.jit
def add_kernel(a, x_ptr, y_ptr, z_ptr, n, x_step, y_step, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * x_step, mask=i < n, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + i * y_step, mask=i < n, other=0.0).to(tl.float32)
    tl.store(z_ptr + i * x_step, a * x + y, mask=i < n)


def scaled_add(a, x, y):
    n, BLOCK = x.shape[0], 256
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    add_kernel[(n // BLOCK,)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
"""


def test_two_mistakes_may_be_in_two_functions():
    report = flashlearn.check("scaled_add", function_from_text(IN_TWO_FUNCTIONS), demo=True)
    (_, two) = report.finding.parts
    assert two.kind.name == "two edits" and {part.place.function for part in two.parts} == {
        "scaled_add",
        "add_kernel",
    }
    assert "triton.cdiv(n, BLOCK)" in report.sentence and "`i * x_step`; with `i`" in report.sentence


DOUBLED = """
@triton.jit
def row_sum_kernel(x_ptr, s_ptr, N, row, column, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N // BLOCK * BLOCK, BLOCK):
        j = start + tl.arange(0, BLOCK).to(tl.int64)
        total += tl.load(x_ptr + i * row + j * column, mask=j < N, other=0.0).to(tl.float32)
    tl.store(s_ptr + i, tl.sum(total, axis=0))


def row_sum(x):
    s = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    row_sum_kernel[(x.shape[0],)](x, s, x.shape[1], *x.stride(), BLOCK=16)
    return s
"""


WHOLE = DOUBLED.replace("N // BLOCK * BLOCK", "N")


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (DOUBLED, "    for start in range(0, N // BLOCK * BLOCK, BLOCK):"),
        (
            WHOLE.replace("dtype=x.dtype", "dtype=torch.float32"),
            "    s = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)",
        ),
    ],
    ids=["lost tile", "dtype"],
)
def test_a_mistake_that_is_named_without_an_edit_gets_its_line(text, line):
    exercise, function = find("row_sum"), function_from_text(text)
    answer = Here(function, exercise)
    place = find_line(exercise, answer, run(exercise, answer))
    assert place is not None and place.text == line


def test_an_edit_that_breaks_a_case_that_passes_is_no_half_of_a_repair():
    """`torch.zeros(…) / q` has the dtype that is missing, and NaN everywhere."""
    text = """
def dq_in_one_walk(q, do, lse, tiles, alpha):
    total, plain = torch.zeros_like(q), torch.zeros_like(q)
    delta = torch.zeros(q.shape[0], 1, device=q.device)
    for k, v in tiles:
        p = torch.exp(alpha * q @ k.T - lse[:, None])
        dp = do @ v.T
        total, plain = total + (p * dp) @ k, plain + p @ k
        delta += (p * dp).sum(1, keepdim=True)
    return alpha * (total - delta * plain)
"""
    exercise, function = find("dq_in_one_walk"), function_from_text(text)
    answer = Here(function, exercise)
    finding = find_edit(exercise, answer, run(exercise, answer))
    assert finding.names == ("one edit",) and finding.facts["new"].endswith("dtype=q.dtype)")
