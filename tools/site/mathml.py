"""Formulas as MathML, which browsers set by themselves: no script, no fonts, no network.

A formula that cannot be converted is an error of the build.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes
from latex2mathml import converter
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the renderer; conf.py chooses it as `html_math_renderer`."""
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}


def mathml(formula: str, display: str = "inline") -> str:
    """A TeX formula as a `<math>` element. Raises ExtensionError for what cannot be converted."""
    try:
        return converter.convert(formula.strip(), display=display)
    except Exception as error:
        raise ExtensionError(f"no MathML for the formula {formula!r}: {error}") from error


def _inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(f'<span class="math">{mathml(node.astext())}</span>')
    raise nodes.SkipNode


def _block(translator: Any, node: nodes.math_block) -> None:
    label = f' id="{node["ids"][0]}"' if node.get("ids") else ""
    # a formula that is wider than the page scrolls, and then the keyboard must reach it
    formula = mathml(node.astext(), "block")
    translator.body.append(f'<div class="math" tabindex="0" role="group"{label}>{formula}</div>\n')
    raise nodes.SkipNode
