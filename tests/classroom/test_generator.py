"""The class that is made by a seed has every kind of notebook, and is the same each time."""

from __future__ import annotations

from pathlib import Path

from flashlearn.classroom.collecting.collect import collect, submissions
from flashlearn.classroom.release import release
from flashlearn.course.files import Course
from flashlearn.course.packaged_lessons import ROOT
from tests.classroom.generator import KINDS, write_class


def test_a_seed_makes_the_same_class_with_all_kinds_in_it(tmp_path: Path):
    handout = release(Course(ROOT), ("00",), tmp_path / "handout")
    one, other = tmp_path / "one", tmp_path / "other"
    labels = write_class(one, handout, 60, seed=4)
    assert labels == write_class(other, handout, 60, seed=4)
    assert {label.kind for label in labels.values()} == set(KINDS)
    for path in one.rglob("*.ipynb"):
        assert path.read_bytes() == (other / path.relative_to(one)).read_bytes()
    for work in collect(one).students:
        ((_, submission),) = submissions(work, handout)
        label = labels[work.student.name]
        assert label.passes <= {cell.exercise for cell in submission.cells}
        assert not (submission.broken and label.passes)
