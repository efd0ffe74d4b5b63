"""A solved notebook run from top to bottom in a Jupyter kernel of its own, in the strict mode."""

from __future__ import annotations

import os
import re
import sysconfig
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from nbformat import NotebookNode

from flashlearn.course import packaged_lessons
from flashlearn.course.authoring import notebook as nb
from flashlearn.course.authoring.source import LessonSource

RECORDED = ("torch", "triton", "sympy")
CELL_TIME_LIMIT = 600  # seconds; a lesson's slowest cell takes a few
ANSI = re.compile(r"\x1b\[[0-9;]*m")
OnCell = Callable[[int, int], None]
"""Called with the number of cells that are done, and of all cells."""


class ExecutionError(Exception):
    """A solution's cell failed; the message has the source's file and line, `trace` what Jupyter showed."""

    def __init__(self, message: str, trace: str = ""):
        self.trace = trace
        super().__init__(message)


def this_device() -> str:
    """The device that outputs of this machine are measured on: the GPU's name, or CPU."""
    import torch

    return torch.cuda.get_device_name(0) if torch.cuda.is_available() else "CPU"


def is_gpu(device: str) -> bool:
    """Whether a recorded device is a GPU."""
    return device.lower().startswith(("nvidia", "cuda"))


def execute(solved: NotebookNode, lesson: LessonSource, device: str, on_cell: OnCell | None = None) -> None:
    """Fill in the outputs and record their device. After an ExecutionError `solved` is incomplete."""
    from nbclient import NotebookClient

    running = {"index": 0}

    def started(cell: NotebookNode, cell_index: int) -> None:
        running["index"] = cell_index
        if on_cell:
            on_cell(cell_index, len(solved.cells))

    generated = [dict(cell.metadata) for cell in solved.cells]
    folder = lesson.root / "solutions"  # a cell runs where a reader would run it
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="flashlearn-") as home:
        client = NotebookClient(
            solved,
            kernel_name="python3",
            timeout=CELL_TIME_LIMIT,
            record_timing=False,
            store_widget_state=False,
            coalesce_streams=True,
            extra_arguments=[
                "--log-level=50"
            ],  # log messages of the Jupyter kernel are not part of the lesson
            resources={"metadata": {"path": str(folder)}},
            on_cell_start=started,
        )
        try:
            client.execute(env=_environment(Path(home), lesson.root))
        except Exception as error:
            if getattr(client, "_async_cleanup_kernel_future", None):  # nbclient swallows Ctrl-C
                raise KeyboardInterrupt from None
            raise _explain(error, lesson, running["index"]) from None
        nb.clean(solved, _names(home, lesson))
    if on_cell:
        on_cell(len(solved.cells), len(solved.cells))
    for cell, kept in zip(solved.cells, generated, strict=True):
        cell.metadata = kept
    solved.metadata["language_info"] = nb.LANGUAGE
    record = {"device": device, "source": nb.code_fingerprint(solved.cells)}
    solved.metadata["flashlearn"].update(record, **{name: metadata.version(name) for name in RECORDED})


def _environment(home: Path, root: Path) -> dict[str, str]:
    """The author's environment, with progress, plots and IPython profile in a temporary folder."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("FLASHLEARN_VERDICTS", "MPLBACKEND")}
    package = str(packaged_lessons.ROOT)
    return inherited | {
        "FLASHLEARN_STRICT": "1",
        "FLASHLEARN_WAIT": "1",
        "FLASHLEARN_COURSE": str(root),
        "FLASHLEARN_HOME": str(home / "progress"),
        "IPYTHONDIR": str(home / "ipython"),
        "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(filter(None, [package, os.environ.get("PYTHONPATH", "")])),
    }


def _names(home: str, lesson: LessonSource) -> dict[str, str]:
    """What replaces this machine's paths in outputs, by path."""
    names = {home: ".flashlearn", f"{lesson.root}/": "", str(lesson.root): ".", str(Path.home()): "~"}
    names |= {f"{sysconfig.get_path(kind)}/": "" for kind in ("purelib", "platlib", "stdlib")}
    return {path: word for path, word in names.items() if path.strip("/")}


def _place(lesson: LessonSource, index: int, line: int = 0) -> str:
    """Where the author wrote the line-th line of a cell: in the source, or in a file that it includes."""
    cell = lesson.cells[index]
    written = cell.lines[line - 1] if 0 < line <= len(cell.lines) else cell.place
    return f"{written.file}:{written.number}"


def _explain(error: Exception, lesson: LessonSource, index: int) -> Exception:
    """Why a cell failed, in a sentence with its place; an unknown error unchanged."""
    from jupyter_client.kernelspec import NoSuchKernel
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    if isinstance(error, CellExecutionError):
        return _raised(error, lesson, index)
    if isinstance(error, CellTimeoutError):
        message = f"the cell ran longer than {CELL_TIME_LIMIT} s and was stopped"
        return ExecutionError(f"{_place(lesson, index)}: {message}")
    if isinstance(error, DeadKernelError):
        message = "the Jupyter kernel died in this cell: run it alone to see why"
        return ExecutionError(f"{_place(lesson, index)}: {message}")
    if isinstance(error, NoSuchKernel):
        return ExecutionError("there is no Jupyter kernel named python3 here: run `make setup`")
    return error


def _raised(error: Exception, lesson: LessonSource, index: int) -> ExecutionError:
    """What a cell raised, at the author's own line: the innermost frame that lies in a cell."""
    trace = ANSI.sub("", getattr(error, "traceback", "") or str(error))
    runs = [i for i, cell in enumerate(lesson.cells) if cell.kind == "code" and cell.solved.strip()]
    frames = re.findall(r"Cell In\[(\d+)\], line (\d+)", trace)
    line = 0
    if frames and int(frames[-1][0]) <= len(runs):
        index, line = runs[int(frames[-1][0]) - 1], int(frames[-1][1])
    found = f"{getattr(error, 'ename', type(error).__name__)}: {ANSI.sub('', getattr(error, 'evalue', ''))}"
    return ExecutionError(f"{_place(lesson, index, line)}: the solution raised {found}", trace)
