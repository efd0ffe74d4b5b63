"""Jobs on a Dask cluster: the same grades, whatever becomes of a worker."""

from __future__ import annotations

from pathlib import Path

import pytest

from flashlearn.classroom.job import Grading
from flashlearn.classroom.workers.cluster import Cluster
from flashlearn.course.files import CourseError
from tests.classroom.small_class import hand_in
from tests.classroom.test_class_run import MARKS, results, run, three  # noqa: F401  a fixture

distributed = pytest.importorskip("distributed", reason="needs Dask: pip install 'flashlearn[cluster]'")


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1"
    ) as running:
        yield running


def test_a_cluster_grades_a_class_and_a_worker_that_dies_loses_nothing(cluster, three: Path):  # noqa: F811
    hand_in(three / "in", "Dan", one=f"dies once {three}/died", two="pass")
    hand_in(three / "in", "Cem", one="raises", two="pass")
    pool = Cluster(cluster.scheduler_address, MARKS, tries=2)
    tally = run(three, pool=pool)
    assert (tally.graded, tally.failed) == (4, 1)
    found = results(three)
    assert (found["Ann"].points, found["Bob"].points, found["Dan"].points) == (6, 2, 4)
    assert "the grader tripped, 2 times" in found["Cem"].exercises[0].for_teacher


def test_a_job_that_never_ends_is_marked_and_its_worker_is_free_again(cluster, tmp_path: Path):
    hand_in(tmp_path / "in", "Ann", one="sleeps")
    hand_in(tmp_path / "in", "Bob", one="pass")
    tally = run(tmp_path, pool=Cluster(cluster.scheduler_address, MARKS, patience=2.0, tries=1))
    assert (tally.graded, tally.failed) == (1, 1)
    hand_in(tmp_path / "in", "Ann", one="wrong")
    assert run(tmp_path, pool=Cluster(cluster.scheduler_address, MARKS)).graded == 1


def test_a_worker_keeps_its_grader(cluster, three: Path):  # noqa: F811
    kept = Grading("tests.classroom.graders:Kept", unsafe=True)
    assert run(three, pool=Cluster(cluster.scheduler_address, kept)).graded == 3


def test_no_scheduler_is_a_sentence(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("flashlearn.classroom.workers.cluster.CONNECTING", "1s")
    with pytest.raises(CourseError, match="no scheduler at"), Cluster("tcp://127.0.0.1:9", MARKS):
        pass
