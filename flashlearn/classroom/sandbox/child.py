"""The sandboxed process: it runs a submission's cells, and answers questions about the functions they define.

It holds no reference, no solution, no expected number, and nothing of other students. Its claims about itself
are not trusted: numbers are judged in a process that it cannot reach.
"""

from __future__ import annotations

import importlib
import itertools
import linecache
import pkgutil
import socket
import time
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from flashlearn import compiler, interpreter, machine, processes, running
from flashlearn.classroom.sandbox.inert_modules import install_sources, no_code_in_formulas
from flashlearn.compiler.lowering import FrontEndRefusal, Lowering
from flashlearn.exercise import Inputs, Kind
from flashlearn.interpreter import printing
from flashlearn.interpreter.deadline import deadline
from flashlearn.interpreter.errors import TimeLimit
from flashlearn.interpreter.route import install
from flashlearn.processes.channel import Channel
from flashlearn.processes.encoding import register
from flashlearn.running.answer import Here
from flashlearn.running.crashes import failure
from flashlearn.running.evidence import Evidence
from flashlearn.running.launcher_plan import LauncherPlan, NoPlan, record
from flashlearn.running.launcher_work import WorkOfTorch
from flashlearn.running.launches import RunCache
from flashlearn.running.plan_replay import replayer
from flashlearn.running.run_modes import FrontEndCheck, Observed

LOWERING = 5.0
"""Seconds of CPU time that triton's front end may take for all launches of an answer."""

OF_THE_SESSION = ("cells", "load", "plan", "carry_out")
"""What is asked of the session; all else is asked of the function in question."""

FIRST = """
import torch
import triton
import triton.language as tl


@triton.jit
def doubling(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at, mask=at < n, other=0.0).to(tl.float32)
    tl.store(out_ptr + at, x + tl.max(x, axis=0) - tl.max(x, axis=0) + x, mask=at < n)


def doubled(x):
    out = torch.empty_like(x)
    doubling[(triton.cdiv(x.numel(), 4),)](x, out, x.numel(), BLOCK=4)
    return out
"""
"""A kernel that runs once before any other: triton then has imported what all of them need."""


@dataclass(frozen=True)
class CellText:
    """A text to run under the name of a cell."""

    number: int
    text: str


@dataclass(frozen=True)
class CellError:
    """The error that stopped a cell: the cell's number, the line, and a sentence."""

    cell: int
    line: int
    sentence: str


@dataclass(frozen=True)
class FunctionRequest:
    """A function by name, its exercise's kind, and what calls it: "module:name", or "" for a plain call."""

    name: str
    kind: str
    call: str = ""


register(CellText, CellError, FunctionRequest)


class LoweringHere(Lowering):
    """The front end in this process, which may not start another, and is disposable itself."""

    def __init__(self, launches: Sequence[Any]):
        super().__init__(())
        self.launches = tuple(launches)

    def refusals(self) -> tuple[FrontEndRefusal, ...]:
        """Lower all launches here; those for which time ran out are not refused."""
        answers: list[dict[str, Any]] = []
        try:
            with deadline(LOWERING):
                self._work(answers.append)
        except TimeLimit:
            pass
        return self.found(answers)


@dataclass(frozen=True)
class _Judged:
    call: Callable[..., Any] | None


@dataclass(frozen=True)
class _Asked:
    """As much of an exercise as calling its answer needs."""

    kind: Kind
    judged: _Judged


class CellSession:
    """One namespace, and the answer in question."""

    def __init__(self) -> None:
        self.module = types.ModuleType("__main__")
        self.answer: Here | None = None
        self.sources_installed = False

    def cells(
        self, pieces: list[CellText], sources: dict[str, str] | None, seconds: float
    ) -> list[CellError]:
        """Run all texts; one that raises, or exceeds its time, yields an error, and the next one runs.

        `sources` are modules of the course that they may import; None allows all.
        """
        if not self.sources_installed and sources is not None:
            install_sources(sources)
            self.sources_installed = True
        return [trouble for piece in pieces if (trouble := self._run(piece, seconds)) is not None]

    def load(self, wanted: FunctionRequest) -> Any:
        """The facts of a function; None if there is none of that name."""
        function = self.module.__dict__.get(wanted.name)
        if function is None:
            return None
        module, _, name = wanted.call.partition(":")
        call = getattr(importlib.import_module(module), name) if module else None
        self.answer = Here(function, _Asked(Kind(wanted.kind), _Judged(call)))  # type: ignore[arg-type]
        self.answer.notebook = RunCache(lowers=LoweringHere)
        return self.answer.facts()

    def plan(self, inputs: Inputs, limit: float) -> LauncherPlan | str:
        """What the function in question does with these inputs; a text if that is not known."""
        try:
            return record(self.answer._caller(), inputs, limit)
        except NoPlan as error:
            return str(error)
        except BaseException as error:  # a learner's function may raise anything, and exit
            return f"{type(error).__name__}: {error}"[:400]

    def carry_out(self, plan: LauncherPlan, inputs: Inputs, mode: Observed) -> tuple[Evidence, WorkOfTorch]:
        """Do what a plan says; what torch did of it. For a process that has run no cells."""
        replay = replayer(plan)
        evidence = Here(replay).run(inputs, mode)
        return evidence, replay.work.observation()

    def _run(self, piece: CellText, seconds: float) -> CellError | None:
        file = file_of(piece.number)
        lines = piece.text.splitlines(keepends=True)
        before = linecache.cache[file][2] if file in linecache.cache else []  # other statements of the cell
        shown = [a if a.strip() else b for a, b in itertools.zip_longest(lines, before, fillvalue="\n")]
        linecache.cache[file] = (len(piece.text), None, shown, file)
        started = time.monotonic()
        try:
            with printing.capped(), deadline(seconds):
                exec(compile(piece.text, file, "exec"), self.module.__dict__)
        except SyntaxError as error:
            message = f"{type(error).__name__}: {error.msg}"
            return CellError(piece.number, error.lineno or 0 if error.filename == file else 0, message)
        except BaseException as error:  # a learner's cell may raise anything, and exit
            _, sentence, place = failure(error, seconds, self._run)
            line = place.line if place is not None and place.file == file else _line_in(error, file)
            late = time.monotonic() - started >= seconds
            message = sentence or type(error).__name__
            return CellError(
                piece.number, line, "It ran too long." if late and not sentence else message[:400]
            )
        return None


def file_of(number: int) -> str:
    """The name under which a cell's text is compiled."""
    return f"<ipython-input-{number}>"


def _line_in(error: BaseException, file: str) -> int:
    step, line = error.__traceback__, 0
    while step is not None:
        line = step.tb_lineno if step.tb_frame.f_code.co_filename == file else line
        step = step.tb_next
    return line


def warm() -> None:
    """Do once what the first answer would have to wait for."""
    torch.set_num_threads(1)
    install()
    no_code_in_formulas()
    for package in (
        compiler,
        interpreter,
        machine,
        processes,
        running,
    ):  # not importable once cells run
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    first = CellSession()
    first.cells([CellText(0, FIRST)], None, 60.0)
    if first.load(FunctionRequest("doubled", "kernel")) is not None and first.answer is not None:
        first.answer.run({"x": torch.ones(4)}, Observed(seed=1))
        first.answer.run({}, FrontEndCheck())


def serve(connection: socket.socket) -> None:
    """Answer until the other side is gone."""
    channel, session = Channel(connection), CellSession()
    while True:
        try:
            what, *arguments = channel.receive()
        except (EOFError, OSError):
            return
        try:
            asked = session if what in OF_THE_SESSION else session.answer
            channel.send(("done", getattr(asked, what)(*arguments)))
        except Exception as error:
            channel.send(("failed", f"{type(error).__name__}: {error}"[:400]))
