"""A lesson exported as HTML shows its formulas without a script and without the network."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

from flashlearn.course.html_export import OfflineHTMLExporter

ROOT = Path(__file__).parents[2]
LESSONS = sorted((ROOT / "solutions").glob("[0-9][0-9]_*.ipynb"))


def exported(*cells: str) -> str:
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_markdown_cell(cell) for cell in cells])
    page, _ = OfflineHTMLExporter().from_notebook_node(notebook)
    return page


def test_formulas_become_mathml_and_code_and_prices_stay():
    page = exported(
        "The *sum* $a_i * b_i$ and $c*d$.\n\n$$x = \\frac{1}{2}$$\n\n`$not$` costs \\$5 and $6.\n\n"
        "```\n$x$\n```"
    )
    assert page.count("<math") == 3 and "<mfrac>" in page and "<em>sum</em>" in page
    assert "<code>$not$</code>" in page and "$x$" in page and "and $6." in page
    assert 'display="block"' in page


def test_a_formula_that_cannot_be_converted_stays_as_it_was_typed():
    assert "$\\frac{$" in exported("Half a formula: $\\frac{$ here.")


def test_an_output_of_sympy_s_is_mathml():
    data = {"text/latex": "$\\displaystyle \\frac{a}{b}$", "text/plain": "a/b"}
    output = nbformat.v4.new_output("execute_result", data, execution_count=1)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("a / b", outputs=[output])])
    assert "<mfrac>" in OfflineHTMLExporter().from_notebook_node(notebook)[0]


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_no_formula_of_a_lesson_is_left_as_source_and_nothing_is_fetched(path: Path):
    page, _ = OfflineHTMLExporter().from_filename(str(path))
    prose = re.sub(r"<(pre|code|script|style|svg|table)\b.*?</\1>", "", page, flags=re.DOTALL)
    left = re.findall(r"(?<!\\)\$[^$<\n]{1,60}\$", re.sub(r"<[^>]+>", "", prose))
    assert left == [] and "<math" in page
    assert not re.search(r"<(script|link|img)\b[^>]*(src|href)=.https?:", page)
