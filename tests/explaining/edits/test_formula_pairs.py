"""Two edits of one formula: what is said where no single one makes everything right."""

from dataclasses import replace

from flashlearn.explaining import diagnose
from flashlearn.explaining.findings.edits import OneEdit, TwoEdits
from flashlearn.explaining.findings.outputs import Outputs
from flashlearn.judging.symbolic import run_symbolic
from flashlearn.lessons import find
from flashlearn.outcome import Finding
from tests.corpus import function_from_text


def found(name, text):
    exercise, function = find(name), function_from_text(text)
    return diagnose(exercise, run_symbolic(exercise, function), function)


def test_an_edit_that_makes_one_output_right_is_told_and_the_other_output_is_left_open():
    text = """
def attention_dq_dk(q, k, ds, alpha):
    dq = ds * k / alpha
    dk = (ds.T * q).applyfunc(lambda x: sp.sin(x))
    return dq, dk
"""
    finding = found("attention_dq_dk", text)
    assert isinstance(finding.kind, Outputs) and finding.partial
    (part,) = finding.parts
    assert isinstance(part.kind, OneEdit) and part.kind.output == "dq"
    assert finding.sentence.endswith("The output `dk` is wrong too.")


def test_two_edits_that_are_right_together_are_both_told():
    text = """
def softmax_vjp(p, dp):
    mean = (p.T * dp)[0] * 5
    return p.multiply_elementwise(dp) + mean * p
"""
    finding = found("softmax_vjp", text)
    assert isinstance(finding.kind, TwoEdits)
    assert "5" in finding.sentence and "`p.multiply_elementwise(dp) - mean * p`" in finding.sentence


def test_two_edits_beside_one_pattern_of_the_error_are_not_told():
    text = """
def softmax_jacobian(p):
    n = p.rows
    upper = sp.zeros(n, n)
    for k in range(n):
        for j in range(k, n):
            upper[k, j] = p[k] * ((1 if j == k else 0) - p[j])
    return upper + upper.T
"""
    finding = found("softmax_jacobian", text)
    assert finding.sentence.startswith("Every entry on the diagonal is 2 times what it should be")
    assert "range" not in finding.sentence and "two" not in finding.sentence


def test_two_edits_of_which_one_alone_repairs_nothing_may_be_one_mistake():
    edit = OneEdit("sign", line=3, old="a + b", new="a - b", cases=2)
    kind = TwoEdits(0, 2, (Finding(edit), Finding(edit)))
    assert "they may be one mistake in two places" in kind.wording().sentence
    assert "they may be one mistake in two places" in replace(kind, reached=1).wording().sentence


def test_an_edit_that_only_stops_a_crash_is_not_said_to_make_an_output_right():
    text = """
def attention_dq_dk(q, k, ds, alpha):
    dk = sp.zeros(k.rows, k.cols)
    for a in range(k.rows):
        for c in range(k.cols):
            dk[a, c] = alpha * ds[a + 7, a] * q[c, a + 7]
    return alpha * ds * k, dk
"""
    finding = found("attention_dq_dk", text)
    assert finding is None  # the error itself is all that is said: dq was right


def test_a_missing_transpose_that_stops_a_formula_is_named_with_a_second_mistake():
    text = """
def matmul_vjp(X, W, dY):
    dX = dY * W
    return dX, X.T * dY / X.rows
"""
    finding = found("matmul_vjp", text)
    assert {part.kind.new for part in finding.kind.parts} == {"W.T", "X.T * dY"}
