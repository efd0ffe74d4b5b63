"""Tables that a page can filter: without JavaScript they are plain tables."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping


def row(*cells: str) -> str:
    """A row of HTML cells."""
    return "<tr>" + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"


def filterable(name: str, heads: Mapping[str, str], rows: Iterable[str], example: str) -> str:
    """The table as a block of MyST. A head with words for "all" gets a list of its values to choose from.

    `example` is shown in the field for words until something is typed.
    """
    columns = "".join(
        f'<th scope="col" data-all="{html.escape(every)}">{head}</th>' for head, every in heads.items()
    )
    body = "\n".join(rows)
    return (
        "```{raw} html\n"
        f'<div class="filterable" id="table-{name}" data-example="{html.escape(example)}">'
        f'<div class="wide" tabindex="0" role="group" aria-label="{name}"><table>'
        f"<thead><tr>{columns}</tr></thead>\n<tbody>\n{body}\n</tbody></table></div></div>\n```"
    )
