"""Each wall holds against an attempt that works without it; and too few walls are refused."""

from __future__ import annotations

import os

import pytest

from flashlearn.classroom.sandbox import doctor, layers
from flashlearn.classroom.sandbox.client import Keeper, NotConfined

STANDING = layers.standing()
ATTEMPTS = [
    (wall, tried)
    for wall, attempts in doctor._ALONE.items()
    for tried in attempts
    if tried not in ("computes for ever", "takes 8 GB of memory", "ends its parent")
]


@pytest.mark.parametrize(("wall", "tried"), ATTEMPTS)
def test_a_wall_holds_against_what_works_without_it(wall: str, tried: str):
    if wall not in STANDING:
        pytest.skip(f"there is no {wall} here")
    attempt = doctor._ALONE[wall][tried]
    doctor._listener()
    if wall != layers.BUBBLEWRAP and not tried.startswith("raises its limits"):
        assert doctor.outcome(lambda: None, attempt) == (False, "it worked") or os.getuid() != 0
    held, said = doctor.outcome(doctor._WALLS[wall], attempt)
    assert held, said


@pytest.mark.parametrize("tried", ["computes for ever", "takes 8 GB of memory"])
def test_what_takes_too_much_is_ended(tried: str):
    held, said = doctor.outcome(doctor._WALLS[layers.LIMITS], doctor._ALONE[layers.LIMITS][tried])
    assert held, said


def test_behind_all_walls_nothing_works_that_a_cell_tries():
    if STANDING.lacking():
        pytest.skip(STANDING.lacking())
    proofs = list(doctor._together(STANDING))
    assert len(proofs) == len(doctor.CELL)
    assert not [proof for proof in proofs if not proof.held]


@pytest.mark.parametrize("missing", [(layers.SECCOMP,), (layers.LANDLOCK, layers.BUBBLEWRAP)])
def test_strangers_are_refused_where_a_wall_that_counts_is_missing(missing: tuple[str, ...]):
    every = layers.Layers(
        (layers.BUBBLEWRAP, layers.NAMESPACES, layers.LANDLOCK, layers.SECCOMP, layers.LIMITS)
    )
    assert every.lacking() == ""
    with pytest.raises(NotConfined, match="Strangers' code is not run here"):
        Keeper(every.without(*missing))


def test_a_proof_says_whether_its_wall_held():
    assert "holds   opens a socket: PermissionError" in str(
        doctor.Proof(layers.SECCOMP, True, "opens a socket", True, "PermissionError")
    )
    assert "BROKEN" in str(doctor.Proof(layers.SECCOMP, True, "opens a socket", False, "it worked"))
    assert "absent" in str(doctor.Proof(layers.SECCOMP, False, said=doctor.ABSENT))


def test_what_lies_in_a_folder_that_may_be_read_is_not_named_again():
    paths = [
        "/usr/lib",
        "/usr/lib/python3/sitecustomize.py",
        "/opt/x/lib/a.py",
        "/opt/x/lib/b.py",
        "/usr/lib64",
    ]
    assert layers.uppermost(paths) == ["/usr/lib", "/opt/x/lib/a.py", "/opt/x/lib/b.py", "/usr/lib64"]
