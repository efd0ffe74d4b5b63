"""What is exported is what each place takes, and no cell of it is a formula."""

from __future__ import annotations

import csv
import dataclasses
import datetime
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest

from flashlearn.classroom.collecting.collect import Student
from flashlearn.classroom.exports import json_results, tables
from flashlearn.classroom.exports.classroom50 import classroom50, whole_points
from flashlearn.classroom.records import (
    AssignedExercise,
    Assignment,
    ExerciseGrade,
    Submission,
    SubmissionGrade,
)
from flashlearn.classroom.results import NotebookResult, Result, canonical, half_up
from flashlearn.course.files import CourseError

ASSIGNMENT = Assignment("Week 1", (AssignedExercise("one", "00", 2), AssignedExercise("two", "00", 2)), "1")
TITLES = {"one": "The first", "two": "The second"}
WRONG = ExerciseGrade(
    "one", "wrong", 0.5, 2, 1, 4, "It adds `x` twice.", 7, "y = x + x", "Look at `y`.", "twice"
)
PASS = ExerciseGrade("two", "pass", 2, 2, 5, 5, "All 5 cases pass.")
GOLDEN, SCHEMAS = Path(__file__).parent / "golden", Path(__file__).parent / "schemas"


def result(
    name: str, status: str = "graded", exercises: tuple[ExerciseGrade, ...] = (WRONG, PASS), **ids: str
) -> Result:
    submission = Submission(name, ("a.ipynb",), (), "key", ("Two cells.",))
    grade = SubmissionGrade(name, "key", "akey", status, 3, 4, exercises, layers=("walls",), seconds=2.4)
    return Result(Student(name, ids), (NotebookResult("00", submission, grade, 2),), 4, exercises)


def rows(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline="")))


RUNNER = {
    "CLASSROOM": "kernels", "ASSIGNMENT": "week-1", "ASSIGNMENT_TYPE": "individual", "OWNER": "ann",
    "SUBMISSION_TAG": "submit/2026-09-01T10-00-00Z-a1b2c3d", "COMMIT_URL": "https://example.org/commit/a1b2c3d",
    "RELEASE_URL": "https://example.org/releases/a1b2c3d", "REVIEW_URL": "https://example.org/compare/a1b2c3d",
}  # fmt: skip
NOON = datetime.datetime(2026, 9, 1, 12, tzinfo=datetime.UTC)


def record(place: str, of: Result) -> dict:
    if place == "classroom50":
        return classroom50(of, ASSIGNMENT, TITLES, RUNNER, NOON)
    return getattr(json_results, place)(of, ASSIGNMENT, TITLES)


PLACES = ("gradescope", "prairielearn", "classroom50")


@pytest.mark.parametrize("place", PLACES)
def test_results_are_as_in_the_golden_file(place: str):
    assert record(place, result("Ann")) == json.loads((GOLDEN / f"{place}.json").read_text())


@pytest.mark.parametrize("place", PLACES)
def test_results_keep_to_what_the_place_documents(place: str):
    schema = json.loads((SCHEMAS / f"{place}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    odd = dataclasses.replace(WRONG, sentence="\x00`<b>`\n" * 9, line="=1", points=1.9999999999)
    for of in (result("Ann"), result("=Bob", exercises=(odd, PASS)), result("Cem", exercises=())):
        jsonschema.validate(json.loads(json.dumps(record(place, of))), schema)


@pytest.mark.parametrize("points", [(0.5, 2), (2 / 3, 2 / 3, 2 / 3), (0.5, 0.5), (0.2, 0.2), (1.9999999999,)])
def test_whole_points_of_exercises_add_up_to_the_whole_points_of_all(points: tuple[float, ...]):
    exercises = [ExerciseGrade("one", "wrong", one, 2) for one in points]
    total = half_up(sum(points))
    found = whole_points(exercises, total)
    assert sum(found) == total and all(0 <= one <= 2 for one in found)


def test_classroom_50s_result_is_not_made_up_outside_its_runner():
    for name, value in (("COMMIT_URL", ""), ("SUBMISSION_TAG", "v1")):
        with pytest.raises(CourseError, match=f"\\${name}"):
            classroom50(result("Ann"), ASSIGNMENT, TITLES, {**RUNNER, name: value}, NOON)


def test_the_plain_table_has_everything():
    head, ann, bob = rows(tables.plain([result("Ann"), result("Bob", "infrastructure")], ASSIGNMENT))
    assert dict(zip(head, ann, strict=True)) == {
        "student": "Ann", "points": "3", "out of": "4", "attempts": "2", "graded without a sandbox": "no",
        "one points": "0.5", "one verdict": "not right yet", "two points": "2", "two verdict": "passed",
    }  # fmt: skip
    assert dict(zip(head, bob, strict=True))["points"] == "", "a failure of the grader's is no grade"


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "  =", "\n-"])
def test_no_cell_is_a_formula(start: str):
    name = f'{start}HYPERLINK("http://example.org")'
    (_, row) = rows(tables.plain([result(name)], ASSIGNMENT))
    assert row[0].startswith("'") or not row[0].strip().startswith(("=", "+", "-", "@"))


CANVAS = (
    "Student,ID,SIS Login ID,Section,Week 1 (77),Week 2 (78)\n"
    "    Points Possible,,,,4,5\n"
    '"Lee, Ann",101,ann,S1,,1\n"Miller, Bob",102,bob,S1,2,\n'
)


def test_canvas_gets_its_own_table_back_with_one_column_filled():
    found = tables.canvas([result("leeann", canvas="101"), result("Nobody", canvas="9")], CANVAS, "Week 1")
    expected = rows(CANVAS)
    expected[2][4] = "3"
    assert rows(found.text) == expected and (found.rows, found.absent) == (1, ("Nobody",))
    with pytest.raises(CourseError, match="0 columns called 'Week 9'"):
        tables.canvas([], CANVAS, "Week 9")
    with pytest.raises(CourseError, match="no column 'Student'"):
        tables.canvas([], "a,b\n", "Week 1")


def test_canvas_may_part_cells_with_semicolons_and_names_in_two_columns():
    table = (
        "LastName;FirstName;ID;SIS Login ID;Section;Week 1 (77)\nLee;Ann;101;ann;S1;\nLi;Bo;102;bo;S1;EX\n"
    )
    found = tables.canvas([result("Ann Lee"), result("Bo Li")], table, "Week 1")
    assert found.text == table.replace("S1;\n", "S1;3\n"), "an excuse stays"
    assert (found.rows, found.absent) == (1, ())


def test_canvas_computes_some_columns_itself():
    table = CANVAS.replace(",4,5", ",4,(read only)").replace("Week 2 (78)", "Final Score")
    with pytest.raises(CourseError, match="computes the column 'Final Score' itself"):
        tables.canvas([result("Ann Lee")], table, "Final Score")


MOODLE = (
    "\ufeffIdentifier,Full name,Email address,Status,Grade,Maximum Grade,Last modified (grade),"
    "Feedback comments\n"
    "Participant 101,Ann Lee,ann@example.org,Submitted,,4.00,-,\n"
    "Participant 102,Bob Miller,bob@example.org,Submitted,,4.00,-,\n"
    "Participant 103,Bob Miller,bob2@example.org,Submitted,,4.00,-,\n"
)


def test_moodle_gets_points_and_feedback_by_number_or_by_a_name_that_only_one_has():
    class_of = [
        result("Cem"),
        result("Ann Lee"),
        result("Bob Miller (103)", moodle="103"),
        result("Bob Miller"),
    ]
    found = tables.moodle(class_of, MOODLE, ASSIGNMENT, TITLES)
    _, ann, bob, other = rows(found.text)
    assert [ann[4], bob[4], other[4]] == ["3", "", "3"] and found.absent == ("Cem", "Bob Miller")
    assert [row[6] for row in (ann, bob, other)] == ["-"] * 3 and bob[7] == ""


def test_moodle_takes_feedback_for_html_and_nothing_of_a_students_is_markup():
    odd = dataclasses.replace(WRONG, sentence="`x` < y, <script>alert(1)</script>", line="a <b> c")
    found = rows(tables.moodle([result("Ann Lee", exercises=(odd, PASS))], MOODLE, ASSIGNMENT, TITLES).text)
    said = found[1][7]
    assert "<code>x</code> &lt; y, &lt;script&gt;" in said and "<code>a &lt;b&gt; c</code>" in said
    assert set(re.findall(r"<(\w+)", said)) == {"p", "b", "code"}


def test_moodle_where_marking_is_anonymous_has_no_names():
    table = "\n".join(",".join(line.split(",")[:1] + line.split(",")[3:]) for line in MOODLE.splitlines())
    found = tables.moodle([result("Participant", moodle="102"), result("Ann Lee")], table, ASSIGNMENT, TITLES)
    assert (found.rows, found.absent) == (1, ("Ann Lee",)) and rows(found.text)[2][2] == "3"


def test_a_worksheet_that_moodle_would_not_take_is_refused():
    with pytest.raises(CourseError, match=r"no more than 3\.00 points here, and Week 1 has 4"):
        tables.moodle([], MOODLE.replace("4.00", "3.00"), ASSIGNMENT, TITLES)
    with pytest.raises(CourseError, match=r"no column 'Last modified \(grade\)'"):
        tables.moodle([], MOODLE.replace("Last modified (grade)", "When"), ASSIGNMENT, TITLES)


def test_a_failure_of_the_graders_changes_no_row():
    failed = result("Ann Lee", "infrastructure", moodle="101")
    table = MOODLE.replace("Submitted,,", "Submitted,1,", 1)
    found = tables.moodle([failed], table, ASSIGNMENT, TITLES)
    assert rows(found.text)[1][4] == "1" and found.ungraded == ("Ann Lee",)


def test_an_anagram_is_another_name():
    table = MOODLE.replace("Bob Miller", "Nan Lee", 1).replace("Ann Lee", "Cem")
    assert tables.moodle([result("Ann Lee")], table, ASSIGNMENT, TITLES).absent == ("Ann Lee",)


def test_joiners_are_a_part_of_names():
    assert tables.inert("\u0646\u0627\u0645\u200c\u0647\u0627") == "\u0646\u0627\u0645\u200c\u0647\u0627"
    assert tables.inert("An\u200dn") == "An�n"
    assert canonical("\u0646\u0627\u0645\u200c\u0647\u0627") == canonical("\u0646\u0627\u0645\u0647\u0627")
