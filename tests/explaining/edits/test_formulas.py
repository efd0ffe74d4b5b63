"""Edits of formulas, and of the same mistake in several lines."""

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
        ("p.reshape(3, -1)", "p.reshape(-1, 3).T"),
        ("p", "p.applyfunc(lambda entry: 1 / entry)"),
        ("ds.multiply_elementwise(p)", "ds"),
    ],
)
def test_mistakes_in_algebra_have_their_edits(edit):
    assert edit in made(FORMULA)


def test_nothing_is_put_in_place_of_a_name_by_which_nobody_means_a_value():
    text = "def f(s, p):\n    top, _ = s.max(dim=1)\n    return (s + top).exp() * p\n"
    assert ("s + top", "s - top") in made(text)
    assert not any("_" in new.replace("(", " ").replace(")", " ").split() for _, new in made(text))


@pytest.mark.parametrize(
    ("pair", "values"),
    [
        ("s.max(dim=1, keepdim=True)", "s.amax(dim=1, keepdim=True)"),
        ("s.min(-1)", "s.amin(-1)"),
        ("torch.max(s, 1)", "torch.amax(s, 1)"),
        ("torch.max(s, t)", None),
        ("max(s, 1)", None),
    ],
)
def test_a_maximum_along_a_dimension_is_tried_without_its_indices(pair, values):
    text = f"def f(s, t):\n    return s - {pair}\n"
    found = {edit.new for edit in edits_of(text) if edit.kind.name == "values alone"}
    assert found == ({values} if values else set())


def test_a_launcher_is_not_a_formula():
    text = "def f(x, y):\n    z = x + y\n    kernel[(1,)](x, z)\n    return z\n"
    assert ("z", "y") not in made(text)


def test_the_same_mistake_for_m_and_n_is_changed_in_both_lines():
    text = "def f(M, N, B, C):\n    down = M // B + 1\n    across = N // C + 1\n    return down * across\n"
    (edit,) = (e for e in edits_of(text) if e.kind.name == "extra block" and e.also)
    changed = edit.applied(text)
    assert "down = -(-M // B)" in changed and "across = -(-N // C)" in changed
    assert (edit.line, edit.also) == (2, (3,))


def test_different_mistakes_are_not_changed_together():
    text = "def f(M, N, B):\n    return M // B + 1, N // 2 + 1\n"
    assert not any(e.also for e in edits_of(text) if e.kind.name == "extra block")


def test_off_by_one_is_tried_of_integers_and_not_of_tensors():
    assert ("a + b", "(a + b - 1)") in made("def f(a, b):\n    return a + b\n")
    assert ("a + b", "(a + b - 1)") not in made("def f(a, b):\n    return torch.exp(a + b)\n")


def test_a_reduction_may_keep_its_dimension():
    text = "def f(p, dp):\n    return dp - (p * dp).sum(1)\n"
    assert ("(p * dp).sum(1)", "(p * dp).sum(1, keepdim=True)") in made(text)
    assert not any("keepdim" in new for _, new in made("def f(p):\n    return p.sum()\n"))


def test_new_tensors_of_several_shapes_get_their_dtype_together():
    text = (
        "def f(q, m, d):\n"
        "    a = torch.zeros(m, d, device=q.device)\n"
        "    b = torch.zeros(m, 1, device=q.device)\n"
        "    return a + b + q\n"
    )
    (edit,) = (e for e in edits_of(text) if e.kind.name == "dtype" and e.also)
    assert edit.applied(text).count("dtype=q.dtype") == 2
