"""Run a learner's notebook from top to bottom in a separate Python process; its file does not change.

    >>> run = run_notebook(Path("work/02_softmax.ipynb"), notebook, timeout=120)
    >>> run.verdicts["softmax_forward"].passed
    True

The notebook's own `flashlearn.check` calls write their verdicts to a file (FLASHLEARN_VERDICTS), read here.
"""

from __future__ import annotations

import json
import logging
import os
import re
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import nbformat
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager
from nbclient import NotebookClient
from nbclient.exceptions import CellTimeoutError, DeadKernelError
from nbclient.util import run_sync

from flashlearn.cli.console import one_line
from flashlearn.course.files import CourseError
from flashlearn.course.progress import home

START_SECONDS = 10
"""Seconds that an interrupted cell may take to return control."""

NUMBER_FIELDS = {"cases_passed": int, "cases": int, "seconds": float}
"""Numeric fields of a verdict, with their types."""

_quiet = logging.getLogger("flashlearn.headless")
_quiet.addHandler(logging.NullHandler())
_quiet.propagate = False


@dataclass(frozen=True)
class CheckVerdict:
    """The last verdict on an exercise; docs/check.schema.json describes it."""

    exercise: str
    status: str
    passed: bool
    sentence: str
    next_step: str = ""
    line: str = ""
    cases_passed: int = 0
    cases: int = 0
    seconds: float = 0.0


@dataclass
class Run:
    """The verdicts of one run by exercise, and other problems in sentences.

    `complete` says that every cell was run, even if some raised.
    """

    notebook: Path
    verdicts: dict[str, CheckVerdict] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)
    complete: bool = False


class CurrentPythonKernel(KernelSpecManager):
    """Runs every notebook in the Python that flashlearn runs in, whatever kernel it names."""

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """The specification of that one kernel."""
        command = [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"]
        return KernelSpec(argv=command, display_name="Python", language="python")


def read_notebook(path: Path) -> Any:
    """The notebook at `path`. Raises CourseError with one sentence if it cannot be read."""
    try:
        return nbformat.read(path, as_version=4)
    except FileNotFoundError:
        raise CourseError(f"There is no notebook {path}.") from None
    except OSError as error:
        raise CourseError(f"{path} cannot be opened: {one_line(error.strerror)}.") from error
    except Exception as error:  # nbformat raises what its parsers raise
        raise CourseError(
            f"{path} cannot be read as a notebook ({type(error).__name__}: {one_line(error, 80)}). "
            "`flashlearn reset` gives a fresh copy of a lesson and keeps this one."
        ) from error


def last_cell_about(notebook: Any, names: Iterable[str]) -> int:
    """Index of the last cell that mentions one of `names`: the cells after it need not run."""
    pattern = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in names))
    code = [
        i for i, cell in enumerate(notebook.cells) if cell.cell_type == "code" and pattern.search(cell.source)
    ]
    return code[-1] if code else len(notebook.cells) - 1


def run_notebook(
    path: Path,
    notebook: Any,
    *,
    timeout: int,
    record: bool = True,
    last: int | None = None,
    on_cell: Callable[[int], None] = lambda index: None,
) -> Run:
    """Run the cells up to index `last` (default: all), each for at most `timeout` seconds.

    A cell that raises or runs too long is reported and the next one runs; without `record` the
    learner's progress does not change. `on_cell` is called with each index before its cell runs.
    """
    run = Run(path)
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="flashlearn-")))
        errors = stack.enter_context(open(scratch / "stderr", "wb+"))
        client = NotebookClient(
            notebook,
            timeout=timeout,
            allow_errors=True,
            store_widget_state=False,
            kernel_name="python3",
            shutdown_kernel="immediate",
            resources={"metadata": {"path": str(path.parent.absolute())}},
            log=_quiet,
        )
        client.km = AsyncKernelManager(kernel_spec_manager=CurrentPythonKernel(), log=_quiet)
        client.owns_km = True
        try:
            stack.enter_context(
                client.setup_kernel(env=_environment(scratch, record), stderr=errors, stdout=errors)
            )
        except (RuntimeError, OSError) as error:
            why = _last_line(errors) or one_line(error)
            run.problems.append(f"The notebook's Python process did not start: {why}.")
            return run
        _run_cells(client, run, len(notebook.cells) - 1 if last is None else last, on_cell)
        run.verdicts = read_verdicts(scratch / "verdicts.jsonl")
    return run


def read_verdicts(path: Path) -> dict[str, CheckVerdict]:
    """The last verdict on each exercise in a file of JSON lines; invalid lines are skipped."""
    verdicts = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        try:
            entry = json.loads(line)
            name, status, passed = str(entry["exercise"]), str(entry["status"]), entry["passed"] is True
            more = {key: kind(entry.get(key) or 0) for key, kind in NUMBER_FIELDS.items()}
        except (ValueError, KeyError, TypeError):
            continue
        words = {key: str(entry.get(key) or "") for key in ("sentence", "next_step", "line")}
        verdicts[name] = CheckVerdict(name, status, passed, **words, **more)
    return verdicts


def _run_cells(client: NotebookClient, run: Run, last: int, on_cell: Callable[[int], None]) -> None:
    for index, cell in enumerate(client.nb.cells[: last + 1]):
        on_cell(index)
        where = f"Cell {index + 1} ({one_line(cell.source, 60)})"
        try:
            client.execute_cell(cell, index)
        except CellTimeoutError:
            run.problems.append(f"{where} did not finish within {client.timeout} s and was stopped.")
            if not _interrupt(client):
                run.problems.append("It could not be interrupted, so the cells after it did not run.")
                return
        except DeadKernelError:
            run.problems.append(
                f"{where} ended its Python process (memory ran out, or the process was told to exit), "
                "so the cells after it did not run."
            )
            return
        else:
            run.problems.extend(f"{where} raised {error}" for error in _errors(cell))
    run.complete = True


def _interrupt(client: NotebookClient) -> bool:
    run_sync(client.km.interrupt_kernel)()
    try:
        run_sync(client.kc.wait_for_ready)(timeout=START_SECONDS)
    except RuntimeError:  # still busy, or gone
        return False
    return True


def _errors(cell: Any) -> list[str]:
    if cell.cell_type != "code" or "raises-exception" in cell.metadata.get("tags", []):
        return []
    raised = [output for output in cell.outputs if output.output_type == "error"]
    return [f"{output.ename}: {one_line(output.evalue)}" for output in raised]


def _environment(scratch: Path, record: bool) -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "FLASHLEARN_STRICT"}
    environment["FLASHLEARN_VERDICTS"] = str(scratch / "verdicts.jsonl")
    environment["FLASHLEARN_HOME"] = str(home() if record else scratch / "home")
    return environment


def _last_line(file: IO[bytes]) -> str:
    file.seek(0)
    lines = file.read().decode(errors="replace").strip().splitlines()
    return lines[-1].rstrip(".") if lines else ""
