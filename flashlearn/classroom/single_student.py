"""One student's folder, graded as an autograder does: only the result is kept.

>>> result = graded(Path("/autograder/submission"), read_handout(Path("handout")))
>>> result.points, result.complete
(7, True)
"""

from __future__ import annotations

from pathlib import Path

from flashlearn.classroom.collecting.collect import Student, StudentFiles, submissions
from flashlearn.classroom.collecting.file_tree import open_tree
from flashlearn.classroom.handout import Handout
from flashlearn.classroom.job import Grading, Job, without_running
from flashlearn.classroom.results import NotebookResult, Result, composed
from flashlearn.classroom.workers.pool import Pool


def graded(folder: Path, handout: Handout, name: str = "You", grading: Grading | None = None) -> Result:
    """Grade all notebooks in a folder, at any depth. Raises CourseError.

    A failure of the grader makes the result incomplete.
    """
    tree = open_tree(folder)
    work = StudentFiles(Student(name), tree.entries, tree.refused)
    asked = handout.parts()
    jobs = {lesson: Job(submission, asked[lesson]) for lesson, submission in submissions(work, handout)}
    grades = {lesson: without_running(job) for lesson, job in jobs.items()}
    lessons = {job.key: lesson for lesson, job in jobs.items()}
    waiting = [job for lesson, job in jobs.items() if grades[lesson] is None]
    with Pool(grading or Grading(), workers=1) as pool:
        for job, grade in pool.run(waiting):
            grades[lessons[job.key]] = grade
    parts = tuple(NotebookResult(lesson, job.submission, grades[lesson], 1) for lesson, job in jobs.items())
    return composed(work.student, parts, handout.assignment)
