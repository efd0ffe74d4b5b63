"""The judge: a forked process that judges one submission, exercise by exercise.

It reads what an untrusted process sends. It cannot start sandboxed children itself: it requests them from the
grading session that requested it, over the same connection.
"""

from __future__ import annotations

import dataclasses
import resource
import socket
from collections.abc import Sequence
from dataclasses import dataclass

from flashlearn.classroom.grading import child_sources
from flashlearn.classroom.grading.confirmation import confirm
from flashlearn.classroom.grading.exercise_grade import (
    clean,
    held_for_review,
    judged,
    missing,
    unconfirmed,
)
from flashlearn.classroom.grading.notebook_cells import MAGICS, NotebookCells, notebook_cells
from flashlearn.classroom.grading.seeds import with_secret_seeds
from flashlearn.classroom.grading.suspicious_code import suspicious_uses
from flashlearn.classroom.records import AssignedExercise, Assignment, CodeCell, ExerciseGrade, Submission
from flashlearn.classroom.sandbox.answer import SandboxedAnswer
from flashlearn.classroom.sandbox.child import CellError, CellText, FunctionRequest
from flashlearn.classroom.sandbox.confinement import Limits
from flashlearn.exercise import Exercise, Kind
from flashlearn.lessons import find
from flashlearn.processes.channel import Channel
from flashlearn.processes.encoding import register
from flashlearn.processes.start import ChildError

JUDGING = 150
"""Seconds of CPU time that judging one exercise may take: references, experiments, sympy."""

CELL_ERROR = "Cell {cell} stopped with an error{line}: {sentence}"


@dataclass(frozen=True)
class JudgeRequest:
    """A submission, and those of its exercises that are still to be judged."""

    submission: Submission
    assignment: Assignment
    asked: tuple[AssignedExercise, ...]
    limits: Limits


register(JudgeRequest, Submission, Assignment, AssignedExercise, CodeCell, Limits, ExerciseGrade)


class Judge:
    """The judging of one submission. Each grade is sent as soon as there is one."""

    def __init__(self, connection: socket.socket, request: JudgeRequest):
        self.connection, self.request = connection, request
        self.channel = Channel(connection)
        self.exercises = {one.name: find(one.name) for one in request.asked}
        self.cells = notebook_cells(request.submission, tuple(self.exercises.values()))
        self.children: dict[tuple, tuple[SandboxedAnswer, int]] = {}
        self.errors: dict[int, CellError] = {}
        self.other: SandboxedAnswer | None = None

    def judge_all(self) -> None:
        """Judge the exercises in the order of their cells, so that each sees what was defined before it."""
        order = sorted(self.request.asked, key=lambda one: self.cells[one.name].position(one.name))
        for asked in order:
            self.channel.send(("begin", asked.name))
            used = resource.getrusage(resource.RUSAGE_SELF)
            until = int(used.ru_utime + used.ru_stime) + JUDGING
            resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
            self.channel.send(("grade", (self._judge(asked), self._notes())))
        self.channel.send(("done", None))
        for child in (*(one for one, _ in self.children.values()), self.other):
            if child is not None:
                child.close()

    def _judge(self, asked: AssignedExercise) -> ExerciseGrade:
        exercise = with_secret_seeds(
            self.exercises[asked.name], self.request.assignment, self.request.submission
        )
        cells = self.cells[asked.name]
        suspicious = cells.suspicious_uses(asked.name) if exercise.kind is Kind.TORCH else ()
        if not suspicious:
            return self._in_place(asked, exercise, cells)
        sliced = cells.sliced(asked.name)
        if not any(suspicious_uses(piece.text) for piece in sliced):
            alone = self._isolated(asked, exercise, sliced)
            if alone.verdict == "pass":
                return alone
        grade = self._in_place(asked, exercise, cells)
        return held_for_review(grade, suspicious) if grade.points > 0 or grade.verdict == "pass" else grade

    def _in_place(self, asked: AssignedExercise, exercise: Exercise, cells: NotebookCells) -> ExerciseGrade:
        """The grade after the cells up to this one or, if names are missing, after all cells."""
        until = cells.position(asked.name)
        grade = self._after_cells(asked, exercise, cells, until)
        last = cells.cells[-1].number if cells.cells else until
        unknown = grade.verdict == "missing" or "NameError" in grade.sentence
        return self._after_cells(asked, exercise, cells, last) if unknown and last > until else grade

    def _after_cells(
        self, asked: AssignedExercise, exercise: Exercise, cells: NotebookCells, until: int
    ) -> ExerciseGrade:
        key = (exercise.lesson, id(cells))
        child, done = self.children.pop(key, (None, 0))
        pieces = [piece for piece in cells.texts if done < piece.number <= until]
        if child is None or child.ended or until < done:
            child, pieces = self._child(), [piece for piece in cells.texts if piece.number <= until]
        grade = self._answer(asked, exercise, child, pieces)
        if child.ended:
            child.close()
        else:
            self.children[key] = child, until
        return grade

    def _isolated(
        self, asked: AssignedExercise, exercise: Exercise, pieces: Sequence[CellText]
    ) -> ExerciseGrade:
        with self._child() as child:
            return self._answer(asked, exercise, child, pieces)

    def _answer(
        self, asked: AssignedExercise, exercise: Exercise, child: SandboxedAnswer, pieces: Sequence[CellText]
    ) -> ExerciseGrade:
        try:
            for error in child.run_cells(pieces, child_sources.sources(exercise.lesson)):
                self.errors[error.cell] = error
            loaded = child.load(
                FunctionRequest(asked.name, exercise.kind.value, child_sources.calling(exercise))
            )
        except ChildError as error:
            why = STOPPED.get(child.ended, STOPPED["died"])
            return dataclasses.replace(
                missing(asked, None), verdict="stopped", sentence=why, mistake="stopped",
                for_teacher=f"Running its cells ended: {error}",
            )  # fmt: skip
        if loaded:
            grade = judged(exercise, asked, child, self.exercises[asked.name])
            return self._confirmed(asked, grade, child) if exercise.kind is Kind.KERNEL else grade
        cell = self.cells[asked.name].position(asked.name)
        error = self.errors.get(cell)
        return missing(asked, error, self._line(error) if error else "")

    def _confirmed(
        self, asked: AssignedExercise, grade: ExerciseGrade, child: SandboxedAnswer
    ) -> ExerciseGrade:
        """A grade with points, if the answer's kernels compute the numbers again without its launcher."""
        if not grade.points and grade.verdict != "pass":
            return grade
        exercise = self.exercises[asked.name]
        anew = with_secret_seeds(exercise, self.request.assignment, self.request.submission, "again")
        doubt, remark = confirm(anew, child, self._trusted, grade.cases_passed)
        if doubt:
            return unconfirmed(grade, doubt)
        return dataclasses.replace(grade, for_teacher=remark) if remark else grade

    def _trusted(self) -> SandboxedAnswer:
        """A child that has run no cells, and runs none."""
        if self.other is None or self.other.ended:
            self.other = self._child()
        return self.other

    def _child(self) -> SandboxedAnswer:
        """Another sandboxed child, from the grading session. Ends this process if none is sent."""
        self.channel.send(("child", None))
        self.connection.settimeout(None)
        message, handles, _, _ = socket.recv_fds(self.connection, 1, 2)
        if len(handles) != 2:
            raise SystemExit(f"no child was sent: {message!r}")
        return SandboxedAnswer(None, (socket.socket(fileno=handles[0]), handles[1]), self.request.limits)

    def _line(self, error: CellError) -> str:
        sources = self.request.submission.cells
        lines = sources[error.cell - 1].text.splitlines() if 0 < error.cell <= len(sources) else []
        return lines[error.line - 1].strip()[:200] if 0 < error.line <= len(lines) else ""

    def _notes(self) -> list[str]:
        """Notes on errors in cells that the learner wrote, and on lines in them that were not run."""
        cells = {cell.number: cell for one in self.cells.values() for cell in one.cells if not cell.ours}
        found = []
        for number, error in sorted(self.errors.items()):
            if number in cells:
                line = f" in line {error.line}" if error.line else ""
                found.append(CELL_ERROR.format(cell=number, line=line, sentence=clean(error.sentence)))
        if count := sum(cell.magics for cell in cells.values()):
            found.append(MAGICS.format(count=count))
        return found


STOPPED = {
    "stuck": "The cells of this notebook ran too long, so they were stopped.",
    "died": "The process that ran the cells of this notebook ended before they did.",
    "malformed": "The process that ran the cells of this notebook sent something that cannot be read.",
    "closed": "The process that ran the cells of this notebook ended before they did.",
}
