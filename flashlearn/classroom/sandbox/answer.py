"""One submission in the sandbox: its cells are run there, and each of its functions answers from there.

>>> with SandboxServer() as server, SandboxedAnswer(server) as child:
...     child.run_cells(pieces, sources)        # what went wrong in them
...     child.load(FunctionRequest("row_sum", "kernel"))  # now it is an Answer to that exercise
...     grade(find("row_sum"), child, earlier)

Replies are in the encoding of flashlearn.processes.encoding. Only numbers and texts in them are accepted: a
status that a child may not claim, a place in a file that is not its own, and an overlong message are rejected
here.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
import socket
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from flashlearn.classroom.sandbox.child import CellError, CellText, FunctionRequest, file_of
from flashlearn.classroom.sandbox.client import SandboxFactory
from flashlearn.classroom.sandbox.confinement import Limits
from flashlearn.classroom.sandbox.watched_channel import WatchedChannel
from flashlearn.exercise import Inputs
from flashlearn.outcome import Place, Status
from flashlearn.processes import pidfd
from flashlearn.processes.encoding import Malformed
from flashlearn.processes.start import STARTING, ChildError
from flashlearn.running.answer import Facts
from flashlearn.running.answer_source import Section
from flashlearn.running.evidence import Evidence, Raised
from flashlearn.running.launcher_plan import LauncherPlan
from flashlearn.running.launcher_work import WorkOfTorch
from flashlearn.running.remote_answer import PATIENCE, RemoteAnswer
from flashlearn.running.run_modes import Observed, RunMode

CLAIMS = frozenset({Status.TODO, Status.CRASHED, Status.TIMEOUT, Status.OUT_OF_BOUNDS, Status.NEEDS_GPU})
"""Statuses that a child may report itself. None of them is worth a point."""

LONGEST = 2000
"""Characters that are kept of a text from a child."""


class SandboxedAnswer(RemoteAnswer):
    """The answer of a sandboxed child. To be closed, or used as a context manager."""

    def __init__(
        self,
        factory: SandboxFactory | None,
        child: tuple[socket.socket, int] | None = None,
        limits: Limits | None = None,
    ):
        connection, self.pidfd = child or factory.child()
        self.process = None
        self.limits = limits or factory.limits
        self.elsewhere = self.taken = 0.0
        self.channel: WatchedChannel = WatchedChannel(connection, self.pidfd, self.limits)
        self.texts: dict[str, str] = {}
        self.ended = ""

    def run_cells(self, pieces: Sequence[CellText], sources: dict[str, str]) -> list[CellError]:
        """Run cells, and return their errors. Raises ChildError if the child did not survive them."""
        for piece in pieces:
            file = file_of(piece.number)
            pairs = itertools.zip_longest(
                piece.text.splitlines(), self.texts.get(file, "").splitlines(), fillvalue=""
            )
            self.texts[file] = "\n".join(a if a.strip() else b for a, b in pairs)
        try:
            found = self._ask(
                self.limits.cell * (len(pieces) + 1), "cells", list(pieces), sources, self.limits.cell
            )
        except (OSError, EOFError, Malformed) as error:
            self._end(error)
            raise ChildError(self.ended) from None
        if not (isinstance(found, list) and all(isinstance(one, CellError) for one in found)):
            return []
        return [dataclasses.replace(one, sentence=one.sentence[:LONGEST]) for one in found[: len(pieces)]]

    def load(self, wanted: FunctionRequest) -> bool:
        """Have the child answer for this function; False if it has none. Raises ChildError."""
        try:
            facts = self._ask(STARTING, "load", wanted)
        except (OSError, EOFError, Malformed) as error:
            self._end(error)
            raise ChildError(self.ended) from None
        self.known = facts if isinstance(facts, Facts) else Facts(wanted.name, "", False, False)
        return isinstance(facts, Facts)

    def misfit(self, name: str, arguments: Sequence[str]) -> str:
        return super().misfit(name, arguments)[:LONGEST]

    def sections(self) -> tuple[Section, ...]:
        """The texts of the function according to the child, if they are texts of the submission."""
        found = self._ask_optional("sections")
        if not isinstance(found, tuple) or not all(isinstance(one, Section) for one in found):
            return ()
        return found if all(self._is_own(one) for one in found) else ()

    def run(self, inputs: Inputs, mode: RunMode) -> Evidence:
        if self.ended:
            return super().run(inputs, mode)
        return self._checked(super().run(inputs, self._shortened(mode)))

    def plan(self, inputs: Inputs, limit: float) -> LauncherPlan | str:
        """What the function does with such inputs, or why that is not known."""
        found = self._asked("plan", inputs, min(limit, self.limits.call))
        return found if isinstance(found, LauncherPlan) else str(found)[:LONGEST]

    def carry_out(self, plan: LauncherPlan, inputs: Inputs, mode: Observed) -> tuple[Evidence, WorkOfTorch]:
        """Have a plan carried out: by a child that has run no cells."""
        found = self._asked("carry_out", plan, inputs, self._shortened(mode))
        if isinstance(found, tuple) and [type(one) for one in found] == [Evidence, WorkOfTorch]:
            return self._checked(found[0]), found[1]
        return Evidence(raised=Raised("Died", str(found), Status.CRASHED, str(found))), WorkOfTorch()

    def _asked(self, what: str, *arguments: Any) -> Any:
        """The answer to a question, or a text that says why there is none."""
        if self.ended:
            return f"its process has ended: {self.ended}"
        try:
            return self._ask(PATIENCE * self.limits.call, what, *arguments)
        except (OSError, EOFError, Malformed) as error:
            self._end(error)
            return f"its process has ended: {self.ended}"
        except ChildError as error:
            return str(error)

    def _shortened(self, mode: RunMode) -> RunMode:
        """A mode whose limit is no longer than this child's own."""
        limit = getattr(mode, "limit", self.limits.call)
        shorter = min(limit, self.limits.call) if limit <= Limits.call else limit
        return mode if shorter == limit else dataclasses.replace(mode, limit=shorter)

    def close(self) -> None:
        """End the child."""
        self.channel.connection.close()
        if self.pidfd >= 0:
            pidfd.kill(self.pidfd)
            os.close(self.pidfd)
            self.pidfd = -1
        self.ended = self.ended or "closed"

    def _end(self, error: BaseException) -> None:
        stuck = isinstance(error, TimeoutError)
        self.ended = "stuck" if stuck else "malformed" if isinstance(error, Malformed) else "died"
        self.close()

    def _ask(self, seconds: float, what: str, *arguments: Any) -> Any:
        self.channel.allowed = min(seconds, self._allowed(what, seconds, arguments))
        self.channel.connection.settimeout(STARTING)
        self.channel.send((what, *arguments))
        match self.channel.receive():
            case ("done", value):
                return value
            case ("failed", str(message)):
                raise ChildError(message[:LONGEST])
        raise Malformed("this is no answer")

    def _allowed(self, what: str, seconds: float, arguments: tuple) -> float:
        """Seconds of CPU time."""
        if what in ("run", "carry_out"):
            return float(getattr(arguments[-1], "limit", self.limits.call))
        return seconds if what == "cells" else self.limits.call

    def _is_own(self, section: Section) -> bool:
        cell = self.texts.get(section.file, "")
        lines = [line.strip() for line in section.text.splitlines() if line.strip()]
        there = {line.strip() for line in cell.splitlines()}
        return bool(lines) and all(line in there for line in lines)

    def _checked(self, evidence: Evidence) -> Evidence:
        """The evidence, with what a child may not claim replaced."""
        for place in _places(evidence):
            lines = self.texts.get(place.file, "").splitlines()
            own = 0 < place.line <= len(lines)
            object.__setattr__(place, "file", place.file if own else "")
            object.__setattr__(place, "text", lines[place.line - 1] if own else "")
        seconds = {
            name: value if math.isfinite(value := getattr(evidence, name)) and value >= 0 else 0.0
            for name in ("seconds", "processor", "asleep")
        }
        raised = evidence.raised
        if raised is not None:
            status = raised.status if raised.status in CLAIMS else Status.CRASHED
            raised = dataclasses.replace(raised, status=status, sentence=raised.sentence[:LONGEST])
        return dataclasses.replace(evidence, raised=raised, **seconds)


def _places(value: Any) -> Iterator[Place]:
    """Every place in a value."""
    todo, seen = [value], set()
    while todo:
        one = todo.pop()
        if id(one) in seen or isinstance(one, str | bytes | int | float | torch.Tensor | np.ndarray | None):
            continue
        seen.add(id(one))
        if isinstance(one, Place):
            yield one
        elif dataclasses.is_dataclass(one) and not isinstance(one, type):
            todo += [getattr(one, field.name) for field in dataclasses.fields(one)]
        elif isinstance(one, dict):
            todo += [*one, *one.values()]
        elif isinstance(one, list | tuple | set | frozenset):
            todo += one
