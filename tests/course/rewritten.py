"""Lessons as other editors save them, for tests: what their serializers do to a notebook's JSON."""

from __future__ import annotations

import copy
import json
from typing import Any


def _lines(cell: dict[str, Any]) -> list[str]:
    return [line for line in "".join(cell["source"]).splitlines(keepends=True) if line]


def vs_code(notebook: dict[str, Any]) -> dict[str, Any]:
    """Ids and metadata kept; sources as lists of lines; keys in alphabetical order; empty outputs written."""
    saved = copy.deepcopy(notebook)
    for cell in saved["cells"]:
        cell["source"] = _lines(cell)
    return json.loads(json.dumps(saved, sort_keys=True))


def pasted(notebook: dict[str, Any]) -> dict[str, Any]:
    """Every cell cut and pasted into a new notebook: ids are drawn anew, and metadata is empty."""
    saved = vs_code(notebook)
    for number, cell in enumerate(saved["cells"]):
        cell |= {"id": f"{number:08x}", "metadata": {}}
    return saved


def without_ids(notebook: dict[str, Any]) -> dict[str, Any]:
    """Format 4.4, which has no ids; metadata is kept."""
    saved = vs_code(notebook) | {"nbformat_minor": 4}
    for cell in saved["cells"]:
        del cell["id"]
    return saved


def hosted(notebook: dict[str, Any]) -> dict[str, Any]:
    """Format 4.0 with an id of the editor's own in each cell's metadata, and nothing else of the course's."""
    saved = without_ids(notebook) | {"nbformat_minor": 0}
    for number, cell in enumerate(saved["cells"]):
        cell["metadata"] = {"id": f"Zx{number:010}"}
    return saved


EDITORS = {"VS Code": vs_code, "pasted": pasted, "without ids": without_ids, "hosted": hosted}
