"""A report quotes the expression around a bare name or number, so that the change can be understood."""

import pytest

from flashlearn.explaining.edits import edits_of
from flashlearn.explaining.edits.quotation import quoted, simplified
from flashlearn.explaining.findings.edits import OneEdit

KERNEL = """
@triton.jit
def kernel(x_ptr, y_ptr, columns, rows, stride, BLOCK: tl.constexpr):
    end = columns
    for start in range(0, columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + lanes * stride, mask=lanes < columns, other=1.0)
        y = tl.where(lanes < rows, x.to(y_ptr.dtype.element_ty), 1.0)
    tl.store(y_ptr + lanes, y)
"""


@pytest.mark.parametrize(
    ("line", "old", "new", "quotes"),
    [
        (4, "columns", "rows", ("end = columns", "end = rows")),
        (5, "columns", "rows", ("range(0, columns, BLOCK)", "range(0, rows, BLOCK)")),
        (7, "columns", "rows", ("lanes < columns", "lanes < rows")),
        (7, "1.0", "0.0", ("other=1.0", "other=0.0")),
        (
            8, "y_ptr.dtype.element_ty", "tl.float32",
            ("x.to(y_ptr.dtype.element_ty)", "x.to(tl.float32)"),
        ),
        (8, "lanes < rows", "lanes <= rows", ("lanes < rows", "lanes <= rows")),
    ],
)  # fmt: skip
def test_the_enclosing_expression_is_quoted(line, old, new, quotes):
    edit = next(e for e in edits_of(KERNEL) if (e.line, e.old, e.new) == (line, old, new) and not e.also)
    assert quoted(KERNEL, edit) == quotes


def test_what_is_quoted_differs_just_where_the_edit_changes_the_text():
    lines = KERNEL.splitlines()
    for edit in edits_of(KERNEL):
        old, new = quoted(KERNEL, edit)
        if not edit.also and "\n" not in old and edit.kind.quotes_both and (old, new) != (edit.old, edit.new):
            changed = edit.applied(KERNEL).splitlines()[edit.line - 1]
            assert old in lines[edit.line - 1] and new in changed


def test_likewise_in_other_lines_is_part_of_the_sentence():
    kind = OneEdit("constant", 3, "0", "1", 4, also=(5, 9), quoted=("f(0)", "f(1)"))
    assert kind.wording().sentence == (
        "Line 3 has `f(0)`; with `f(1)`, and the same change in lines 5 and 9, all 4 failing cases pass."
    )


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("max(1, buffers - 0)", "max(1, buffers)"),
        ("n + b - b", "n"),
        ("x * c - b + b", "x * c"),
        ("(a + b) * 1 * c", "(a + b) * c"),
        ("(j + 0) * s", "j * s"),
        ("tile[(p - 0), None]", "tile[p, None]"),
        ("a - (b - 1)", "a - (b - 1)"),
        ("range(0, n, 1)", "range(0, n, 1)"),
        ("x * 1.0", "x * 1.0"),
    ],
)
def test_what_has_no_effect_is_not_quoted(written, meant):
    assert simplified(written) == meant


def test_an_edit_to_zero_is_quoted_as_what_is_left():
    source = "def f(buffers, size):\n    return size * max(1, buffers - 1)\n"
    edit = next(e for e in edits_of(source) if e.old == "1" and e.new == "0" and e.start > 50)
    assert quoted(source, edit) == ("buffers - 1", "buffers")


def test_what_stands_twice_in_its_line_is_quoted_with_more_around_it():
    text = "def f(w, a, b, x, y):\n    return w(a) * x + w(a) * y"
    second = [e for e in edits_of(text) if (e.old, e.new) == ("a", "b") and e.start > text.index("+")]
    assert quoted(text, second[0]) == ("w(a) * y", "w(b) * y")
