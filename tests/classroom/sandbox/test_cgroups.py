"""Control groups on a tree of plain files: what is written, and why there are none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flashlearn.classroom.records import AssignedExercise
from flashlearn.classroom.sandbox import cgroups, doctor
from flashlearn.classroom.sandbox.cgroups import LEAF, Groups, delegated
from flashlearn.classroom.sandbox.confinement import Limits
from tests.classroom.answers import IMPORTS, ROW_SUM

FILES = (
    "cgroup.procs",
    "cgroup.subtree_control",
    "memory.max",
    "memory.swap.max",
    "memory.oom.group",
    "pids.max",
    "cgroup.kill",
)


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A mounted tree, in which this process and the one above it are alone in `scope`.

    As in the kernel's, a new folder has its files, and can be removed with them.
    """
    made, removed = Path.mkdir, Path.rmdir

    def mkdir(self: Path, *how: object, **named: object) -> None:
        made(self, *how, **named)
        for name in FILES:
            (self / name).touch()

    def rmdir(self: Path) -> None:
        killed = (self / "cgroup.kill").read_text()
        (tmp_path / "removed").open("a").write(f"{self.name} {killed}\n")
        for name in FILES:
            (self / name).unlink()
        removed(self)

    monkeypatch.setattr(Path, "mkdir", mkdir)
    monkeypatch.setattr(Path, "rmdir", rmdir)
    scope = tmp_path / "scope"
    scope.mkdir()
    (tmp_path / "cgroup.controllers").write_text("cpu memory pids")
    (scope / "cgroup.controllers").write_text("cpu memory pids")
    (scope / "cgroup.procs").write_text(f"{os.getppid()}\n{os.getpid()}\n")
    (tmp_path / "own").write_text("0::/scope\n")
    return tmp_path


def found(tree: Path) -> Groups:
    return delegated(tree, tree / "own")


def test_the_controllers_are_handed_on_once_this_process_is_in_a_leaf(tree: Path):
    assert found(tree).folder == tree / "scope"
    assert (tree / "scope" / "cgroup.subtree_control").read_text() == "+memory +pids"
    procs = (tree / "scope" / LEAF / "cgroup.procs").read_text()
    # a plain file keeps the last digits of a longer number that was there before
    assert procs.startswith((str(os.getppid()), str(os.getpid())))


def test_who_was_forked_from_a_process_in_the_leaf_makes_groups_beside_it(tree: Path):
    found(tree)
    (tree / "scope" / "cgroup.subtree_control").write_text("memory pids")
    (tree / "own").write_text(f"4:memory:/old\n0::/scope/{LEAF}\n")
    assert found(tree).folder == tree / "scope"


def test_a_group_has_the_limits_before_it_has_the_process_and_is_killed_before_it_is_removed(tree: Path):
    group = found(tree).group(17, Limits(memory=1 << 30, scratch=1 << 20, threads=5))
    assert group is not None
    read = {name: (group.folder / name).read_text() for name in FILES}
    assert read["memory.max"] == str((1 << 30) + (1 << 20)), "what lies in the scratch folder counts, too"
    assert (read["pids.max"], read["cgroup.procs"]) == ("5", "17")
    assert (read["memory.swap.max"], read["memory.oom.group"]) == ("0", "1")
    group.close()
    assert not group.folder.exists()
    assert (tree / "removed").read_text() == f"{group.folder.name} 1\n"


def test_groups_that_a_killed_process_left_are_removed(tree: Path):
    left = tree / "scope" / f"{LEAF}-{1 << 30}-0"
    left.mkdir()
    mine = tree / "scope" / f"{LEAF}-{os.getpid()}-0"
    mine.mkdir()
    found(tree)
    assert not left.exists() and mine.exists()


@pytest.mark.parametrize(
    ("missing", "why"),
    [
        ("own", "no control groups"),
        ("cgroup.controllers", "version 2 are not mounted"),
        ("scope/cgroup.procs", "not delegated"),
        ("scope/cgroup.controllers", "no controller for memory and pids"),
        ("scope/cgroup.subtree_control", "cannot delegate"),
    ],
)
def test_where_something_is_lacking_doctor_says_what_in_one_sentence(tree: Path, missing: str, why: str):
    (tree / missing).unlink()
    groups = found(tree)
    assert groups.folder is None and groups.group(17, Limits()) is None
    assert not (tree / "scope" / LEAF).exists(), "nothing has changed"
    said = str(doctor.of_groups(groups))
    assert said.startswith("cgroups      absent  not used: ") and why in said and "\n" not in said


def test_a_process_of_version_1_alone_is_told_so(tree: Path):
    (tree / "own").write_text("4:memory:/old\n")
    assert found(tree).why == "this process is in no control group of version 2"


def test_a_group_that_cannot_be_limited_is_not_used(tree: Path, monkeypatch: pytest.MonkeyPatch):
    groups = found(tree)
    monkeypatch.setattr("tests.classroom.sandbox.test_cgroups.FILES", ("cgroup.procs", "cgroup.kill"))
    assert groups.group(17, Limits()) is None
    assert not list((tree / "scope").glob(f"{LEAF}-*-*"))


def test_each_child_that_runs_a_submission_is_in_a_group_until_it_is_judged(graded, tree: Path, monkeypatch):
    groups, members = found(tree), []
    write = cgroups.Group.write

    def noting(self: cgroups.Group, name: str, value: object) -> None:
        write(self, name, value)
        members.extend([value] * (name == "cgroup.procs"))

    monkeypatch.setattr(cgroups, "here", lambda: groups)
    monkeypatch.setattr(cgroups.Group, "write", noting)
    assert graded(IMPORTS, (ROW_SUM, "row_sum"), asked=(AssignedExercise("row_sum", "00", 2),)).points == 2
    assert members and all(isinstance(one, int) and one > 1 for one in members)
    assert not list((tree / "scope").glob(f"{LEAF}-*-*"))
