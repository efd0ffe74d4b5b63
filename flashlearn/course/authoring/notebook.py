"""Notebooks as values: generate, fingerprint, carry over older outputs, clean, write.

Nothing here executes a cell. Two builds of one source give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from flashlearn.course import installed_cell
from flashlearn.course.authoring.source import LessonSource

KERNEL = {"display_name": "Python 3 (ipykernel)", "language": "python", "name": "python3"}
LANGUAGE = {
    "name": "python",
    "file_extension": ".py",
    "mimetype": "text/x-python",
    "pygments_lexer": "ipython3",
}
ERROR_EXPECTED = {"raises-exception", "nbval-raises-exception"}
WIDGET = "application/vnd.jupyter.widget-view+json"


def generate(lesson: LessonSource, solved: bool) -> NotebookNode:
    """One of the lesson's two notebooks, without outputs.

    The learner's has a cell before its first code cell that says what to install if the package is missing.
    It is no part of the lesson: neither of the fingerprints knows it.
    """
    make = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
    cells = [
        make.get(cell.kind, nbformat.v4.new_raw_cell)(
            cell.solved if solved else cell.stub, id=cell.id, metadata=dict(cell.metadata)
        )
        for cell in lesson.cells
    ]
    first = next((i for i, cell in enumerate(cells) if cell.cell_type == "code"), None)
    if first is not None and not solved:
        hidden = {"jupyter": {"source_hidden": True}}  # in JupyterLab a line with three dots
        cells.insert(first, make["code"](installed_cell.TEXT, id=installed_cell.IDENTITY, metadata=hidden))
    notebook = nbformat.v4.new_notebook(
        cells=cells, metadata={"kernelspec": KERNEL, "language_info": LANGUAGE}
    )
    notebook.nbformat_minor = 5
    notebook.metadata["flashlearn"] = {"lesson": lesson.name, "built": fingerprint(cells)}
    return notebook


def fingerprint(cells: list[NotebookNode]) -> str:
    """A hash of all that is generated, without outputs: one that no longer matches was edited by hand."""
    own = [c for c in cells if c.get("id") != installed_cell.IDENTITY]
    return _hash([[c.cell_type, c.get("id", ""), c.source, c.metadata] for c in own])


def code_fingerprint(cells: list[NotebookNode]) -> str:
    """A hash of what outputs depend on: the code cells in order. Prose may change without a new run."""
    return _hash([[c.source, c.metadata] for c in cells if c.cell_type == "code"])


def _hash(value: list) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:16]


def read(path: Path) -> NotebookNode | None:
    """The notebook in a file; None if there is none. Raises ValueError if the file is no notebook."""
    if not path.exists():
        return None
    try:
        notebook = nbformat.v4.reads(path.read_text(encoding="utf-8"))
        for cell in notebook.cells:
            _ = cell.cell_type, cell.source, cell.metadata
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"{path.name} is not a notebook: {error}") from None
    return notebook


def write(notebook: NotebookNode, path: Path) -> bool:
    """Write only what differs, so that an unchanged file keeps its time stamp. True if written."""
    content = text(notebook)
    if path.exists() and path.read_text(encoding="utf-8") == content:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")
    return True


def text(notebook: NotebookNode) -> str:
    """The notebook as its file has it."""
    return nbformat.v4.writes(notebook) + "\n"


def carry_outputs(old: NotebookNode | None, new: NotebookNode) -> None:
    """Copy the outputs of cells with the same source from `old` to `new`, with their record."""
    if old is None:
        return
    before = {(cell.get("id"), cell.source): cell for cell in old.cells if cell.cell_type == "code"}
    for cell in new.cells:
        if cell.cell_type == "code" and (kept := before.get((cell.id, cell.source))) is not None:
            cell.outputs, cell.execution_count = kept.get("outputs", []), kept.get("execution_count")
    record = {
        key: value
        for key, value in old.metadata.get("flashlearn", {}).items()
        if key not in ("lesson", "built")
    }
    new.metadata["flashlearn"].update(record)


def unexecuted(notebook: NotebookNode) -> list[NotebookNode]:
    """Code cells that have something to run and never ran."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code"
        and cell.source.strip()
        and cell.get("execution_count") is None
        and "skip-execution" not in cell.metadata.get("tags", [])
    ]


def failed(notebook: NotebookNode) -> list[NotebookNode]:
    """Code cells that show an error and are not tagged to raise one."""
    return [
        cell
        for cell in notebook.cells
        if cell.cell_type == "code"
        and any(output.output_type == "error" for output in cell.get("outputs", []))
        and not ERROR_EXPECTED & set(cell.metadata.get("tags", []))
    ]


def clean(notebook: NotebookNode, names: Mapping[str, str]) -> None:
    """Remove from outputs what is specific to this machine or this run; `names` replaces paths."""
    notebook.metadata.pop("widgets", None)
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        cell.metadata.pop("execution", None)
        cell.outputs = [kept for output in cell.outputs if (kept := _clean_output(output, names)) is not None]


def _clean_output(output: NotebookNode, names: Mapping[str, str]) -> NotebookNode | None:
    if output.output_type == "stream":
        output.text = clean_text(output.text, names)
    elif output.output_type == "error":
        output.evalue = clean_text(output.evalue, names)
        output.traceback = [clean_text(line, names) for line in output.traceback]
    else:
        output.metadata.pop(WIDGET, None)
        output.data.pop(WIDGET, None)
        for kind, value in output.data.items():
            if isinstance(value, str) and not (kind.startswith("image/") and kind != "image/svg+xml"):
                output.data[kind] = clean_text(value, names)
        if not output.data:
            return None
    return output


def clean_text(text: str, names: Mapping[str, str]) -> str:
    """One text without this machine's paths and without memory addresses."""
    for path in sorted(names, key=len, reverse=True):
        text = text.replace(path, names[path])
    if "/ipykernel_" in text:  # on a picture's data this search would take minutes
        text = re.sub(r"[^\s\"'<>():]{0,400}/ipykernel_\d+/\d+\.py", "<cell>", text)
    text = re.sub(re.escape(tempfile.gettempdir()) + r"/tmp\w{8}", "<folder>", text)
    return re.sub(r"(?<= at )0x[0-9a-fA-F]{6,}", "0x…", text)
