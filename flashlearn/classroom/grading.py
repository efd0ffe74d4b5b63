"""One submission to one grade."""

from __future__ import annotations

from flashlearn.classroom.records import Assignment, ExerciseGrade, Submission, SubmissionGrade


def grade(submission: Submission, assignment: Assignment, unsafe: bool = False) -> SubmissionGrade:
    """A stand-in with the signature of the real one: each exercise is not graded."""
    del unsafe
    each = tuple(ExerciseGrade(one.name, "not graded", 0, one.points) for one in assignment.exercises)
    out_of = sum(one.points for one in assignment.exercises)
    return SubmissionGrade(submission.student, submission.key, assignment.key, "graded", 0, out_of, each)
