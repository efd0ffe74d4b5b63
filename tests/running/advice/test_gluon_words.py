"""Advice in a Gluon kernel names Gluon's own functions, and says where a loop's fraction comes from."""

import ast

import pytest
import triton.language as tl
from triton.experimental.gluon import language as gluon

from flashlearn.running.advice.calls import fractional_range
from flashlearn.running.advice.error_context import ErrorContext
from flashlearn.running.advice.gluon_words import in_own_language

FRACTION = TypeError("a loop's start, end and step are integers")


def context(text: str, **given: object) -> ErrorContext:
    function = ast.parse(text).body[0]
    modules = {"gl": gluon, "tl": tl}
    return ErrorContext(FRACTION, function.body[0], function.body[0], function, globals=modules, given=given)


@pytest.mark.parametrize(
    ("text", "sentence", "then"),
    [
        ("def f(x):\n    y = gl.load(x)", "tl.load reads it.", "gl.load reads it."),
        ("def f(x):\n    y = tl.load(x)", "tl.load reads it.", "tl.load reads it."),
        ("def f(x):\n    y = gl.load(x)", "Write `tl.trans(a)`.", "Write `tl.trans(a)`."),
    ],
)
def test_what_both_languages_have_is_named_in_that_of_the_kernel(text, sentence, then):
    assert in_own_language(sentence, context(text)) == then


def test_a_fraction_that_the_launch_passes_is_divided_there():
    loop = "def f(n):\n    for i in range(n):\n        pass"
    assert fractional_range(context(loop, n=2.0)).endswith("passes 2.0 for `n`: divide with // there.")
    assert fractional_range(context(loop)).endswith("Convert it with .to(tl.int32).")
    assert "Divide with //" in fractional_range(context(loop.replace("range(n)", "range(n / 2)"), n=2.0))
