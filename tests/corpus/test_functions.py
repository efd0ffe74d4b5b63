"""Functions made from text keep their lines, and edits apply once."""

from __future__ import annotations

import inspect

import pytest

from tests.corpus import function_with_edits


def test_an_edit_that_does_not_occur_exactly_once_is_refused():
    with pytest.raises(ValueError, match="2 times"):
        function_with_edits("def f(x):\n    return f(x)\n", ("f(x)", "x"))


def test_an_edited_launcher_keeps_the_lines_of_its_text():
    function = function_with_edits("def f(x):\n    return x\n", ("return x", "return -x"))
    assert function(2) == -2
    assert "return -x" in inspect.getsource(function)
