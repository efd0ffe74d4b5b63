"""After a repair that is certain, what is still wrong is explained, and what is explained is counted anew."""

from __future__ import annotations

import pytest

from flashlearn.explaining import diagnose
from flashlearn.explaining.edits.search import edits_of
from flashlearn.explaining.findings.edits import OneEdit
from flashlearn.explaining.findings.two_mistakes import AfterRepair
from flashlearn.explaining.repaired import Repaired
from flashlearn.explaining.second_look import _is_seen_still
from flashlearn.judging.cases import run, run_observed
from flashlearn.lessons import find
from flashlearn.outcome import Finding, FindingKind, Status
from flashlearn.running.answer import Here
from tests.corpus.entries import find_entries
from tests.corpus.functions import function_from_text

EXERCISE = find("row_sum")
KERNEL = """
@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * stride_row + j{stride}, mask=j < columns, other=0.0).to(tl.float32)
    tl.store(s_ptr + i, tl.sum(x))


def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype={dtype}, device=x.device)
    row_sum_kernel[(rows,)](x, s, columns, *x.stride(), BLOCK=triton.next_power_of_2(columns))
    return s
"""
MISSING_STRIDE = KERNEL.format(stride="", dtype="x.dtype")
BOTH = KERNEL.format(stride="", dtype="torch.float32")


def checked(text):
    function = function_from_text(text, "row_sum")
    outcomes = run(EXERCISE, function)
    return function, outcomes, diagnose(EXERCISE, outcomes, function)


def test_a_wrong_dtype_does_not_hide_a_stride_that_is_missing():
    _, outcomes, finding = checked(BOTH)
    failing = [o for o in outcomes if o.status is not Status.PASS]
    assert finding.sentence.startswith(
        "There are two mistakes; the second was found in a copy with the first one fixed. (1) s has"
    )
    assert "stride_column" in finding.sentence
    assert (finding.fits, finding.of) == (len(failing), len(failing)) and not finding.partial
    assert "shape" in finding.names


def test_a_repaired_answer_has_the_cases_that_its_text_makes_right():
    function, outcomes, _ = checked(MISSING_STRIDE)
    answer = Here(function, EXERCISE)
    (section, edit) = next(
        (i, edit)
        for i, one in enumerate(answer.sections())
        for edit in edits_of(one.text)
        if edit.new == "j * stride_column"
    )
    repaired = Repaired(answer, ((section, edit.applied(answer.sections()[section].text)),))
    again = [run_observed(EXERCISE, repaired, o.case).status for o in outcomes]
    assert Status.PASS in {o.status for o in outcomes} and Status.OUT_OF_BOUNDS in {
        o.status for o in outcomes
    }
    assert set(again) == {Status.PASS}
    assert run_observed(EXERCISE, answer, outcomes[0].case).status is outcomes[0].status  # it is unchanged


def test_lines_seen_in_a_repaired_answer_are_those_of_the_learners_file():
    function, outcomes, _ = checked(MISSING_STRIDE)
    answer = Here(function, EXERCISE)
    stopped = next(o for o in outcomes if o.status is Status.OUT_OF_BOUNDS)
    same = Repaired(answer, tuple((i, one.text) for i, one in enumerate(answer.sections())))
    assert run_observed(EXERCISE, same, stopped.case).place.line == stopped.place.line


def _parts(finding):
    return [finding, *(inner for part in finding.parts for inner in _parts(part))]


@pytest.mark.parametrize("title", ["lse stride and guard", "lse without its stride, exp without a guard"])
def test_what_a_finding_of_two_mistakes_counts_is_recomputed(title):
    (entry,) = find_entries("recompute_probabilities", title)
    exercise, answer = find(entry.exercise), Here(entry.function)
    outcomes = run(exercise, entry.function)
    failing = [o for o in outcomes if o.status is not Status.PASS]
    finding = diagnose(exercise, outcomes, entry.function)
    assert len(finding.names) > 1 or finding.parts
    for part in _parts(finding):
        if not isinstance(part.kind, AfterRepair) or not isinstance(part.parts[0].kind, OneEdit):
            continue
        edit = part.parts[0].kind
        section, text = next(
            (i, one.applied(section.text))
            for i, section in enumerate(answer.sections())
            for one in edits_of(section.text)
            if (one.kind.name, one.old, one.new, section.line + one.line - 1)
            == (edit.edit, edit.old, edit.new, edit.line)
        )
        repaired = Repaired(Here(entry.function, exercise), ((section, text),))
        again = [run_observed(exercise, repaired, o.case).status for o in failing]
        assert again.count(Status.PASS) == part.kind.repaired and len(again) == part.kind.failing


@pytest.mark.parametrize(("left", "says"), [(("b",), "b is"), (("a", "b"), "a and b are")])
def test_a_repair_of_one_output_is_counted_by_outputs_and_gives_no_reason_for_the_rest(left, says):
    edit = Finding(OneEdit("name", 3, "x", "y", 0, output="c"), fits=0, of=0)
    sentence = AfterRepair(0, 10, 0, (edit,), left).wording().sentence
    assert sentence == f"Line 3 has `x`; with `y`, the output c is right in every case. {says} still wrong."


def test_what_a_repair_leaves_is_not_said_to_have_another_reason():
    edit = Finding(OneEdit("name", 3, "x", "y", 4), fits=4, of=4)
    sentence = AfterRepair(4, 7, 4, (edit,)).wording().sentence
    assert sentence == "Line 3 has `x`; with `y` 4 of the 7 failing cases pass. The other 3 stay wrong."


BACKWARD = """
def attention_backward(q, k, v, o, do, alpha):
    p = torch.softmax(alpha * (q @ k.mT), dim=-1)
    dp = do @ v.mT
    p.mul_(dp - (p * dp).sum(-1, keepdim=True))
    return p @ k, alpha * (p.mT @ q), p.mT @ do
"""


def test_an_edit_for_one_output_is_told_by_outputs_and_not_by_cases():
    exercise = find("attention_backward")
    text = BACKWARD.replace("q, k, v, o, do, alpha", ", ".join(exercise.parameters()))
    function = function_from_text(text, "attention_backward")
    finding = diagnose(exercise, run(exercise, function), function)
    assert "dq is right in every case. dv is still wrong" in finding.sentence
    assert "0 of the" not in finding.sentence


SUMS_IN_FP32 = """
def dq_in_one_walk(q, do, lse, tiles, alpha):
    rows, width = q.shape
    sum_pdp_k, sum_p_k = torch.zeros(2, rows, width)
    sum_pdp = torch.zeros(rows, 1)
    for keys, values in tiles:
        p = torch.exp(alpha * q @ keys.mT - lse[:, None])
        pdp = p * (do @ values.mT)
        sum_pdp_k += pdp @ keys
        sum_p_k += p @ keys
        sum_pdp += pdp.sum(dim=-1, keepdim=True)
    return ALPHA * (sum_pdp_k - sum_pdp * sum_p_k)
"""


@pytest.mark.parametrize(("alpha", "another"), [("alpha", False), ("2 * alpha", True)])
def test_numbers_rounded_to_fp32_where_fp64_is_asked_for_are_no_second_mistake(alpha, another):
    exercise, function = find("dq_in_one_walk"), function_from_text(SUMS_IN_FP32.replace("ALPHA", alpha))
    outcomes = run(exercise, function)
    finding = diagnose(exercise, outcomes, function)
    assert ("float32, expected float64" in finding.sentence) or another
    assert (
        "still wrong" in finding.sentence or "two mistakes" in finding.sentence or "2 *" in finding.sentence
    ) is another


def test_what_is_observed_before_and_after_an_edit_is_seen_still():
    class Seen(FindingKind):
        observed = True

    class Named(FindingKind):
        pass

    assert _is_seen_still(Finding(Seen()), Finding(Seen()))
    assert not _is_seen_still(Finding(Seen()), Finding(Named()))
    assert not _is_seen_still(Finding(Named()), Finding(Named()))
    assert not _is_seen_still(None, Finding(Seen()))


INDEX_FOR_BOTH = """
@triton.jit
def p_flat(s_ptr, lse_ptr, p_ptr, total, N, s0, s1, BLOCK: tl.constexpr):
    e = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = e < total
    row, col = e // N, e // N
    s = tl.load(s_ptr + row * s0 + col * s1, mask=inside, other=0.0).to(tl.float32)
    lse = tl.load(lse_ptr + row, mask=inside, other=0.0)
    exponent = (s - lse) * 1.4426950408889634 * 2
    p = tl.where(lse == -float("inf"), 0.0, tl.exp2(exponent))
    tl.store(p_ptr + e, p, mask=inside)


def recompute_probabilities(s, lse):
    lse = lse.contiguous()
    p = torch.zeros(s.shape, dtype=s.dtype)
    n = p.numel()
    p_flat[(triton.cdiv(n, 128),)](s, lse, p, n, s.shape[1], *s.stride(), BLOCK=128)
    return p
"""


def test_an_edit_that_only_keeps_the_accesses_inside_is_no_first_mistake_of_two():
    exercise, function = find("recompute_probabilities"), function_from_text(INDEX_FOR_BOTH)
    finding = diagnose(exercise, run(exercise, function), function)
    assert "Something is still wrong" not in finding.sentence, "an address without its column reads less"
