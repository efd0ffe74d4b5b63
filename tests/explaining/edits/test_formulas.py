"""Slips in formulas, and the same slip made twice: the edits that take them back."""

import pytest

from flashlearn.explaining.edits import edits_of


def made(text: str) -> set[tuple[str, str]]:
    return {(edit.old, edit.new) for edit in edits_of(text)}


FORMULA = """def f(p, dp, alpha):
    y = sp.exp(p * dp)
    mean = p.dot(dp)
    ds = dp - p * mean
    ds[0] = alpha * y + mean + p[0]
    rows = p.reshape(3, -1)
    return ds.multiply_elementwise(p), sp.Max(*p)
"""


@pytest.mark.parametrize(
    "edit",
    [
        ("y", "dp"),
        ("p * dp", "dp * p"),
        ("sp.exp(p * dp)", "alpha"),
        ("p * dp", "p * dp - alpha"),
        ("dp", "dp * alpha"),
        ("dp", "dp.multiply_elementwise(p)"),
        ("p * mean", "(p * mean) / alpha"),
        ("ds[0] = alpha * y + mean + p[0]", "ds[0] += alpha * y + mean + p[0]"),
        ("alpha * y + mean + p[0]", "alpha * (y + mean + p[0])"),
        ("p.reshape(3, -1)", "p.reshape(-1, 3).mT"),
        ("p", "p.applyfunc(lambda entry: 1 / entry)"),
        ("ds.multiply_elementwise(p)", "ds"),
    ],
)
def test_a_formula_has_the_edits_of_slips_in_algebra(edit):
    assert edit in made(FORMULA)


def test_a_launcher_is_no_formula():
    text = "def f(x, y):\n    z = x + y\n    kernel[(1,)](x, z)\n    return z\n"
    assert ("z", "y") not in made(text)


def test_what_is_written_for_m_and_for_n_is_changed_in_both_lines():
    text = "def f(M, N, B, C):\n    down = M // B + 1\n    across = N // C + 1\n    return down * across\n"
    (edit,) = (e for e in edits_of(text) if e.kind.name == "extra block" and e.also)
    changed = edit.applied(text)
    assert "down = -(-M // B)" in changed and "across = -(-N // C)" in changed
    assert (edit.line, edit.also) == (2, (3,))


def test_slips_that_differ_are_not_taken_for_twins():
    text = "def f(M, N, B):\n    return M // B + 1, N // 2 + 1\n"
    assert not any(e.also for e in edits_of(text) if e.kind.name == "extra block")


def test_a_count_is_one_off_in_whole_numbers_and_not_in_tensors():
    assert ("a + b", "(a + b - 1)") in made("def f(a, b):\n    return a + b\n")
    assert ("a + b", "(a + b - 1)") not in made("def f(a, b):\n    return torch.exp(a + b)\n")
