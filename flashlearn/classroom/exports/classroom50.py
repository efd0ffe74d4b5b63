"""Classroom 50's `result.json`, whole numbers throughout: schema "classroom50/result/v1".

The schema is schemas/result-v1.schema.json of foundation50/classroom50, the contract its wiki page "Advanced
Autograding". Its runner passes the repository and the commit in environment variables.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from flashlearn.classroom.exports.json_results import as_text
from flashlearn.classroom.pages.feedback import of
from flashlearn.classroom.records import Assignment, ExerciseGrade
from flashlearn.classroom.results import Result
from flashlearn.course.files import CourseError

SCHEMA = "classroom50/result/v1"
TAG = re.compile(r"submit/.+")
NEEDED = ("CLASSROOM", "ASSIGNMENT", "SUBMISSION_TAG", "COMMIT_URL", "RELEASE_URL")


def classroom50(
    result: Result,
    assignment: Assignment,
    titles: dict[str, str],
    variables: Mapping[str, str],
    now: datetime,
) -> dict[str, Any]:
    """A `result.json`; `variables` are those of the runner. Raises CourseError where one is missing.

    The runner replaces the owner, the kind of assignment and the time of the submission by its own.
    """
    missing = [name for name in NEEDED if not variables.get(name)]
    if missing or not TAG.fullmatch(variables["SUBMISSION_TAG"]):
        what = f"${missing[0]} is not set" if missing else "$SUBMISSION_TAG names no submission"
        raise CourseError(f"{what}: Classroom 50's runner sets it, and starts the autograder.")
    page, when = of(result, assignment, titles), now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    scores = whole_points(result.exercises, result.points)
    return {
        "schema": SCHEMA,
        "classroom": variables["CLASSROOM"],
        "assignment": variables["ASSIGNMENT"],
        "assignment_type": variables.get("ASSIGNMENT_TYPE") or "individual",
        "owner": variables.get("OWNER") or variables.get("USERNAME") or "unknown",
        "submission": variables["SUBMISSION_TAG"],
        "commit": variables["COMMIT_URL"],
        "release": variables["RELEASE_URL"],
        "review": variables.get("REVIEW_URL") or variables["COMMIT_URL"],
        "datetime": when,
        "graded_at": when,
        "score": result.points,
        "max-score": result.out_of,
        "tests": [
            {
                "test-name": f"{one.name}: {item.title}" if item.title else one.name,
                "passed": one.verdict == "pass",
                "score": score,
                "max-score": one.out_of,
                "message": item.word,
                "output": "\n".join(as_text(item)),
            }
            for item, one, score in zip(page.exercises, result.exercises, scores, strict=True)
        ],
    }


def whole_points(exercises: Sequence[ExerciseGrade], total: int) -> list[int]:
    """Whole points for each exercise that add up to the total: those rounded down most get the rest."""
    down = [math.floor(one.points + 1e-9) for one in exercises]
    rest = sorted(range(len(down)), key=lambda i: down[i] - exercises[i].points)[: max(0, total - sum(down))]
    return [points + (i in rest) for i, points in enumerate(down)]
