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
from flashlearn.classroom.grading.exercise_grade import clean, held_for_review, judged, missing
from flashlearn.classroom.grading.notebook_cells import MAGICS, NotebookCells, notebook_cells
from flashlearn.classroom.grading.seeds import with_secret_seeds
from flashlearn.classroom.grading.suspicious_code import SuspiciousUse, suspicious_uses
from flashlearn.classroom.grading.value_reads import needs_values, taken
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

TROUBLE = "Cell {cell} did not come to its end{line}: {said}"


@dataclass(frozen=True)
class JudgeRequest:
    """A submission, and those of its exercises that are still to be judged."""

    submission: Submission
    assignment: Assignment
    asked: tuple[AssignedExercise, ...]
    limits: Limits


register(JudgeRequest, Submission, Assignment, AssignedExercise, CodeCell, Limits, ExerciseGrade)


class Judge:
    """One submission in a fork: what it finds goes out at once, word by word."""

    def __init__(self, connection: socket.socket, job: JudgeRequest):
        self.connection, self.job = connection, job
        self.channel = Channel(connection)
        self.exercises = {one.name: find(one.name) for one in job.asked}
        self.cells = notebook_cells(job.submission, tuple(self.exercises.values()))
        self.children: dict[tuple, tuple[SandboxedAnswer, int]] = {}
        self.troubles: dict[int, CellError] = {}

    def judge_all(self) -> None:
        """Each exercise in the order of its cell, so that it meets what had been defined by then."""
        order = sorted(self.job.asked, key=lambda one: self.cells[one.name].place(one.name))
        for asked in order:
            self.channel.send(("begin", asked.name))
            used = resource.getrusage(resource.RUSAGE_SELF)
            until = int(used.ru_utime + used.ru_stime) + JUDGING
            resource.setrlimit(resource.RLIMIT_CPU, (until, resource.RLIM_INFINITY))
            self.channel.send(("grade", (self._judge(asked), self._notes())))
        self.channel.send(("done", None))
        for child, _ in self.children.values():
            child.close()

    def _judge(self, asked: AssignedExercise) -> ExerciseGrade:
        exercise = with_secret_seeds(self.exercises[asked.name], self.job.assignment, self.job.submission)
        of = self.cells[asked.name]
        reaching = () if exercise.kind is Kind.SYMBOLIC else of.reaching(asked.name)
        if not reaching:
            return self._in_place(asked, exercise, of)
        sliced = of.sliced(asked.name)
        if not any(suspicious_uses(piece.text) for piece in sliced):
            alone = self._alone(asked, exercise, sliced)
            if alone.verdict == "pass":
                return alone
        grade = self._in_place(asked, exercise, of)
        return held_for_review(grade, reaching) if grade.points > 0 or grade.verdict == "pass" else grade

    def _in_place(self, asked: AssignedExercise, exercise: Exercise, of: NotebookCells) -> ExerciseGrade:
        """In the child that has run the cells up to this one; where that is too early, after all of them."""
        until = of.place(asked.name)
        grade = self._with(asked, exercise, of, until)
        last = of.cells[-1].number if of.cells else until
        unknown = grade.verdict == "missing" or "NameError" in grade.sentence
        return self._with(asked, exercise, of, last) if unknown and last > until else grade

    def _with(
        self, asked: AssignedExercise, exercise: Exercise, of: NotebookCells, until: int
    ) -> ExerciseGrade:
        key = (exercise.lesson, id(of))
        child, done = self.children.pop(key, (None, 0))
        pieces = [piece for piece in of.pieces if done < piece.number <= until]
        if child is None or child.ended or until < done:
            child, pieces = self._child(), [piece for piece in of.pieces if piece.number <= until]
        grade = self._answer(asked, exercise, child, pieces)
        if child.ended:
            child.close()
        else:
            self.children[key] = child, until
        return grade

    def _alone(
        self, asked: AssignedExercise, exercise: Exercise, pieces: Sequence[CellText]
    ) -> ExerciseGrade:
        with self._child() as child:
            return self._answer(asked, exercise, child, pieces)

    def _answer(
        self, asked: AssignedExercise, exercise: Exercise, child: SandboxedAnswer, pieces: Sequence[CellText]
    ) -> ExerciseGrade:
        try:
            for trouble in child.run_cells(pieces, child_sources.sources(exercise.lesson)):
                self.troubles[trouble.cell] = trouble
            there = child.load(
                FunctionRequest(asked.name, exercise.kind.value, child_sources.calling(exercise))
            )
        except ChildError as error:
            why = STOPPED.get(child.ended, STOPPED["died"])
            return dataclasses.replace(
                missing(asked, None), verdict="stopped", sentence=why, mistake="stopped",
                for_teacher=f"Running its cells ended: {error}",
            )  # fmt: skip
        if there:
            grade = judged(exercise, asked, child, self.exercises[asked.name])
            seen = self._taken(exercise, child) if grade.points and exercise.kind is Kind.KERNEL else ()
            return held_for_review(grade, seen) if seen else grade
        cell = self.cells[asked.name].place(asked.name)
        trouble = self.troubles.get(cell)
        return missing(asked, trouble, self._line(trouble) if trouble else "")

    def _taken(self, exercise: Exercise, child: SandboxedAnswer) -> tuple[SuspiciousUse, ...]:
        """What takes numbers out of the inputs before any kernel runs."""
        pieces = self.cells[exercise.name].sliced(exercise.name)
        found = [taken(piece.text) for piece in pieces]
        plainly = tuple(reach for one in found for reach in one.plainly)
        perhaps = tuple(reach for one in found for reach in one.perhaps)
        if plainly or not perhaps:
            return plainly
        return perhaps if any(one.hidden for one in found) or needs_values(exercise, child) else ()

    def _child(self) -> SandboxedAnswer:
        """Another confined child. Raises ChildError where none can be had."""
        self.channel.send(("child", None))
        self.connection.settimeout(None)
        message, handles, _, _ = socket.recv_fds(self.connection, 1, 2)
        if len(handles) != 2:
            raise SystemExit(f"no child was sent: {message!r}")
        return SandboxedAnswer(None, (socket.socket(fileno=handles[0]), handles[1]), self.job.limits)

    def _line(self, trouble: CellError) -> str:
        sources = self.job.submission.cells
        lines = sources[trouble.cell - 1].text.splitlines() if 0 < trouble.cell <= len(sources) else []
        return lines[trouble.line - 1].strip()[:200] if 0 < trouble.line <= len(lines) else ""

    def _notes(self) -> list[str]:
        """What went wrong in cells that the learner wrote, and what was not run in them."""
        cells = {cell.number: cell for one in self.cells.values() for cell in one.cells if not cell.ours}
        found = []
        for number, trouble in sorted(self.troubles.items()):
            if number in cells:
                line = f", in line {trouble.line}" if trouble.line else ""
                found.append(TROUBLE.format(cell=number, line=line, said=clean(trouble.sentence)))
        if count := sum(cell.magics for cell in cells.values()):
            found.append(MAGICS.format(count=count))
        return found


STOPPED = {
    "stuck": "The cells of this notebook ran too long, so they were stopped.",
    "died": "The process that ran the cells of this notebook ended before they did.",
    "malformed": "The process that ran the cells of this notebook said something that cannot be read.",
    "closed": "The process that ran the cells of this notebook ended before they did.",
}
