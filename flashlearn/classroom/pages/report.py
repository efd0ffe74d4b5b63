"""The teacher's report: one static page on how the class did, which mistakes it made, and who is stuck where.

>>> Path("report.html").write_text(render(summary(book)))
"""

from __future__ import annotations

import json
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from flashlearn.classroom.gradebook import Gradebook
from flashlearn.classroom.pages.formatting import number, template
from flashlearn.classroom.records import AssignedExercise, ExerciseGrade
from flashlearn.classroom.results import Result
from flashlearn.classroom.similarity import Pair, alike
from flashlearn.course import packaged_lessons
from flashlearn.course.lesson_reader import EXERCISE_CELL

VERDICTS = ("pass", "wrong", "stopped", "todo", "missing", "not graded")
MOST_MISTAKES = 25
MOST_PAIRS = 40
SOLUTION = "the course's solution"
BARS = 10


@dataclass(frozen=True)
class Row:
    """One exercise over the whole class."""

    name: str
    title: str
    out_of: int
    counts: tuple[tuple[str, int], ...]
    mean: float
    seconds: float


@dataclass(frozen=True)
class MistakeRow:
    """One mistake in one exercise: the sentence that most students with it were given, and these students."""

    exercise: str
    mistake: str
    sentence: str
    students: tuple[str, ...]


@dataclass(frozen=True)
class StudentRow:
    """One student's row."""

    name: str
    points: int
    attempts: int
    exercises: tuple[ExerciseGrade, ...]
    notes: tuple[str, ...]

    @property
    def stuck(self) -> tuple[str, ...]:
        """Exercises that were started and not passed."""
        return tuple(one.name for one in self.exercises if one.verdict in ("wrong", "stopped"))


@dataclass(frozen=True)
class Bar:
    """How many students have from `first` to `last` points; `height` is a share of the highest bar."""

    first: int
    last: int
    count: int
    height: float


@dataclass(frozen=True)
class Together:
    """Two students, and the exercises in which their answers are similar, each with the share in common."""

    one: str
    other: str
    exercises: tuple[tuple[str, float], ...]


@dataclass(frozen=True)
class Summary:
    """Everything that the report shows."""

    assignment: str
    out_of: int
    students: tuple[StudentRow, ...]
    mean: float
    median: float
    bars: tuple[Bar, ...]
    rows: tuple[Row, ...]
    mistakes: tuple[MistakeRow, ...]
    pairs: tuple[Together, ...]
    remarks: tuple[tuple[str, str, str], ...]
    unsafe: int
    failed: int
    seconds: float


def summary(
    book: Gradebook, earlier: Sequence[tuple[str, Gradebook]] = (), anonymous: bool = False
) -> Summary:
    """The class in numbers. Raises CourseError for an empty gradebook.

    Answers are also compared with those of `earlier` gradebooks, each with a name, and with the course's
    solutions. An `anonymous` report has stand-ins for the students' names.
    """
    assignment, titles = book.assignment()
    shown = {name: stand_in for stand_in, name in book.names().items()} if anonymous else {}
    students: list[StudentRow] = []
    texts: dict[str, list[tuple[str, str]]] = defaultdict(list)
    unsafe = failed = 0
    seconds = 0.0
    for result in book.results():
        who = replace(result.student, name=shown.get(result.student.name, result.student.name))
        result = replace(result, student=who)
        row = _student_row(result)
        students.append(replace(row, notes=()) if anonymous else row)  # notes name files, and these people
        unsafe, failed = unsafe + result.unsafe, failed + (not result.complete)
        for part in result.parts:
            seconds += part.grade.seconds if part.grade else 0.0
            for cell in part.submission.cells:
                if cell.exercise:
                    texts[cell.exercise].append((result.student.name, cell.text))
    points = [one.points for one in students] or [0]
    out_of = sum(one.points for one in assignment.exercises)
    return Summary(
        assignment=assignment.name,
        out_of=out_of,
        students=tuple(students),
        mean=statistics.fmean(points),
        median=statistics.median(points),
        bars=_bars(points if students else [], out_of),
        rows=tuple(_row(i, asked, titles, students) for i, asked in enumerate(assignment.exercises)),
        mistakes=_mistakes(students),
        pairs=_together(alike(_beyond_the_stub(texts, students), _others(texts, earlier)))[:MOST_PAIRS],
        remarks=tuple(
            (s.name, one.name, remark) for s in students for one in s.exercises if (remark := _remark(one))
        ),
        unsafe=unsafe,
        failed=failed,
        seconds=seconds,
    )


def _others(
    exercises: Iterable[str], earlier: Sequence[tuple[str, Gradebook]]
) -> dict[str, list[tuple[str, str]]]:
    """Texts of earlier years, and the course's solutions, by exercise: with whose they are."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    wanted = set(exercises)
    for stem in packaged_lessons.sources():
        for cell in json.loads(packaged_lessons.notebook(stem, solved=True))["cells"]:
            name = str(cell.get("id", "")).removeprefix(EXERCISE_CELL)
            if cell["cell_type"] == "code" and name in wanted:
                found[name].append((SOLUTION, "".join(cell["source"])))
    for year, book in earlier:
        for result in book.results():
            right = {one.name for one in result.exercises if one.verdict not in ("todo", "missing")}
            for part in result.parts:
                for cell in part.submission.cells:
                    if cell.exercise in wanted & right:
                        found[cell.exercise].append((f"{result.student.name}, {year}", cell.text))
    return found


def render(found: Summary) -> str:
    """The page: one HTML file, with its style and without scripts."""
    stuck = sorted((s for s in found.students if s.stuck), key=lambda s: (s.points, s.name))
    return template("report.html.j2").render(page=found, stuck=stuck, verdicts=VERDICTS)


def _student_row(result: Result) -> StudentRow:
    notes = tuple(
        dict.fromkeys(n for p in result.parts for n in (*p.submission.notes, p.submission.broken) if n)
    )
    attempts = max((part.attempts for part in result.parts), default=0)
    return StudentRow(result.student.name, result.points, attempts, result.exercises, notes)


def _remark(grade: ExerciseGrade) -> str:
    """What a teacher reads about one grade: the grader's remark, and the teacher's own word."""
    set_by = f"You set {number(grade.points)} points." if grade.overridden else ""
    return " ".join(text for text in (grade.for_teacher, set_by, grade.comment) if text)


def _row(at: int, asked: AssignedExercise, titles: dict[str, str], students: list[StudentRow]) -> Row:
    grades = [student.exercises[at] for student in students]
    counts = Counter(one.verdict for one in grades)
    took = [one.seconds for one in grades if one.seconds]
    return Row(
        asked.name,
        titles.get(asked.name, ""),
        asked.points,
        tuple((verdict, counts[verdict]) for verdict in VERDICTS if counts[verdict]),
        statistics.fmean(one.points for one in grades) if grades else 0.0,
        statistics.median(took) if took else 0.0,
    )


def _mistakes(students: list[StudentRow]) -> tuple[MistakeRow, ...]:
    made: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for student in students:
        for one in student.exercises:
            if one.mistake and one.verdict in ("wrong", "stopped"):
                made[one.name, one.mistake].append((student.name, one.sentence))
    found = [
        MistakeRow(
            exercise,
            mistake,
            Counter(sentence for _, sentence in who).most_common(1)[0][0],
            tuple(name for name, _ in who),
        )
        for (exercise, mistake), who in made.items()
    ]
    return tuple(sorted(found, key=lambda one: (-len(one.students), one.exercise, one.mistake)))[
        :MOST_MISTAKES
    ]


def _beyond_the_stub(texts: dict[str, list[tuple[str, str]]], students: list[StudentRow]) -> dict:
    """Answers that are more than the stub."""
    idle = {(s.name, one.name) for s in students for one in s.exercises if one.verdict in ("todo", "missing")}
    return {name: [(who, text) for who, text in of if (who, name) not in idle] for name, of in texts.items()}


def _together(pairs: list[Pair]) -> tuple[Together, ...]:
    """Pairs of students, those with the most similar exercises first."""
    found: dict[tuple[str, str], list[tuple[str, float]]] = defaultdict(list)
    for pair in pairs:
        found[pair.one, pair.other].append((pair.exercise, pair.share))
    made = (Together(one, other, tuple(each)) for (one, other), each in found.items())
    return tuple(sorted(made, key=lambda two: -sum(share for _, share in two.exercises)))


def _bars(points: list[int], out_of: int) -> tuple[Bar, ...]:
    width = -(-(out_of + 1) // BARS)
    counts = Counter(one // width for one in points)
    highest = max(counts.values(), default=1)
    return tuple(
        Bar(first, min(first + width - 1, out_of), counts[i], counts[i] / highest)
        for i, first in enumerate(range(0, out_of + 1, width))
    )
