"""The inputs that a submission is judged by, drawn from the teacher's secret or from the submission's text.

>>> with_secret_seeds(find("row_sum"), assignment, submission)  # the exercise, with other seeds in its cases

With a secret the whole class gets the same inputs, which cannot be predicted. Without one the inputs follow
from the submission's own content, so that no text can contain their answers. Where the inputs of a formula
are its cases' own numbers, and nothing is drawn, the cases count too that a learner's check does not show.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac

from flashlearn.classroom.records import Assignment, Submission
from flashlearn.exercise import Case, Exercise, Kind


def with_secret_seeds(
    exercise: Exercise, assignment: Assignment, submission: Submission, purpose: str = ""
) -> Exercise:
    """The exercise with seeds that no submission can know, others for each `purpose`."""
    secret = (assignment.draws or f"{assignment.key} {submission.key}".encode()) + purpose.encode()
    hidden = exercise.explained.fresh if exercise.kind is Kind.SYMBOLIC else ()
    cases = tuple(_with_seed(case, secret, exercise.name) for case in (*exercise.cases, *hidden))
    return dataclasses.replace(exercise, cases=cases)


def _with_seed(case: Case, secret: bytes, name: str) -> Case:
    digest = hmac.digest(secret, f"{name} {case.name} {case.seed}".encode(), hashlib.sha256)
    return dataclasses.replace(case, seed=int.from_bytes(digest[:4], "big") >> 1)
