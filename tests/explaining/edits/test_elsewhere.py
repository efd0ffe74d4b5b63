"""An edit of a rule that is called once, or one that takes a factor back, may be at a place that is right."""

from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.elsewhere import may_be_elsewhere
from flashlearn.running.answer_source import Section

RULE = "def product_vjp(X, W, dY):\n    return dY * W.T, X.T * dY\n"
ONE_CALL = "def answer(q, k, ds):\n    return product_vjp(q, k.T, ds)\n"
SAME_NAMES = "def answer(X, k, ds):\n    return product_vjp(X, k.T, ds)\n"
TWO_CALLS = "def answer(q, k, ds):\n    return product_vjp(q, k.T, ds) + product_vjp(k, q.T, ds)\n"
BUDGET = "def budget(q, k, n):\n    a = q * 2\n    b = k * 2\n    return n * (a + b) + b\n"


def sections(*texts: str) -> list[Section]:
    """Sections with these texts."""
    return [Section(text[4 : text.index("(")], "answer.py", 1, text) for text in texts]


def left_open(texts: list[Section], old: str, new: str) -> bool:
    """Whether the edit of the first text may be at a right place."""
    (edit,) = [e for e in edits_of(texts[0].text) if (e.old, e.new) == (old, new)][:1]
    return may_be_elsewhere(texts, 0, edit)


def test_a_rule_that_is_called_once_with_other_things_may_be_right():
    transposed = ("X.T * dY", "dY.T * X")
    assert left_open(sections(RULE, ONE_CALL), *transposed)
    assert not left_open(sections(RULE, SAME_NAMES), *transposed)
    assert not left_open(sections(RULE, TWO_CALLS), *transposed)
    assert not left_open(sections(RULE), *transposed)


def test_a_division_by_a_factor_of_a_line_that_reads_it_takes_the_factor_back():
    assert left_open(sections(BUDGET), "q * 2", "(q * 2) / n")
    assert not left_open(sections(BUDGET), "n * (a + b) + b", "(n * (a + b) + b) / n")
