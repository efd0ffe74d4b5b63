"""The draws of inputs that a submission is judged by: the teacher's own, or those that its own text decides.

>>> drawn(find("row_sum"), assignment, submission)          # the exercise, with other seeds in its cases

With draws of the teacher's the whole class meets the same inputs, and nobody can work them out. Without them
the inputs follow from the submission's own content, so that no text can hold their answers.
"""

from __future__ import annotations

import dataclasses
import hashlib
import hmac

from flashlearn.classroom.records import Assignment, Submission
from flashlearn.exercise import Case, Exercise


def drawn(exercise: Exercise, assignment: Assignment, submission: Submission) -> Exercise:
    """The exercise with seeds that no submission knows."""
    secret = assignment.draws or f"{assignment.key} {submission.key}".encode()
    cases = tuple(_with_seed(case, secret, exercise.name) for case in exercise.cases)
    return dataclasses.replace(exercise, cases=cases)


def _with_seed(case: Case, secret: bytes, name: str) -> Case:
    digest = hmac.digest(secret, f"{name} {case.name} {case.seed}".encode(), hashlib.sha256)
    return dataclasses.replace(case, seed=int.from_bytes(digest[:4], "big") >> 1)
