"""A scheduler that has lost its workers is said, connected to anew, and given up. No Dask is needed."""

from __future__ import annotations

import itertools
import sys
import types
from pathlib import Path
from typing import Any

import pytest

from flashlearn.classroom.job import perform
from flashlearn.classroom.workers import cluster
from flashlearn.course.files import CourseError
from tests.classroom.graders import by_marks
from tests.classroom.small_class import hand_in
from tests.classroom.test_class_run import MARKS, results, run


class Client:
    """Connections to a scheduler: one without workers, which was restarted, and then one with a worker."""

    connections = itertools.count()

    def __init__(self, _address: str, **_named: Any):
        self.status, self.number = "running", next(self.connections)

    def nthreads(self) -> dict[str, int]:
        return {"worker": 1} if self.number >= self.healed else {}

    def submit(self, _function: Any, text: str, _how: str, **_named: Any) -> types.SimpleNamespace:
        if not self.nthreads():
            return types.SimpleNamespace(status="pending", key="")
        return types.SimpleNamespace(status="finished", result=lambda timeout: perform(text, by_marks))

    def cancel(self, _futures: Any, force: bool = False) -> None: ...

    def close(self, timeout: int = 0) -> None: ...


@pytest.fixture
def scheduler(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "distributed", types.SimpleNamespace(Client=Client))
    for name, seconds in {"LOOKING": 0.0, "WAITING": 0.6, "RECONNECTING": 0.1, "POLL": 0.01}.items():
        monkeypatch.setattr(cluster, name, seconds)
    Client.connections = itertools.count()
    return Client


def test_a_scheduler_without_workers_is_said_and_given_up(scheduler, tmp_path: Path):
    scheduler.healed, said = 10**6, []
    hand_in(tmp_path / "in", "Ann", one="pass")
    with cluster.Cluster("tcp://x", MARKS, say=said.append) as pool, pytest.raises(CourseError) as given_up:
        run(tmp_path, pool=pool)
    assert len(said) == 1 and "has no workers" in said[0] and "dask worker tcp://x" in said[0]
    assert "had no workers" in str(given_up.value)


def test_jobs_are_sent_again_once_there_are_workers(scheduler, tmp_path: Path):
    scheduler.healed, said = 2, []
    hand_in(tmp_path / "in", "Ann", one="pass")
    with cluster.Cluster("tcp://x", MARKS, say=said.append) as pool:
        assert run(tmp_path, pool=pool).graded == 1
    assert results(tmp_path)["Ann"].points == 2 and len(said) == 1
