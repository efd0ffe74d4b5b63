"""Each layer holds against an attempt that works without it; and too few layers are refused."""

from __future__ import annotations

import os

import pytest

from flashlearn.classroom.sandbox import doctor, layers
from flashlearn.classroom.sandbox.client import NotConfined, SandboxServer

AVAILABLE = layers.available()
ATTEMPTS = [
    (layer, tried)
    for layer, attempts in doctor._ALONE.items()
    for tried in attempts
    if tried not in ("computes for ever", "takes 8 GB of memory", "ends its parent")
]


@pytest.mark.parametrize(("layer", "tried"), ATTEMPTS)
def test_a_layer_holds_against_what_works_without_it(layer: str, tried: str):
    if layer not in AVAILABLE:
        pytest.skip(f"there is no {layer} here")
    attempt = doctor._ALONE[layer][tried]
    doctor._listener()
    if layer != layers.BUBBLEWRAP and not tried.startswith("raises its limits"):
        assert doctor.outcome(lambda: None, attempt) == (False, "it worked") or os.getuid() != 0
    held, said = doctor.outcome(doctor._APPLY[layer], attempt)
    assert held, said


@pytest.mark.parametrize("tried", ["computes for ever", "takes 8 GB of memory"])
def test_what_takes_too_much_is_ended(tried: str):
    held, said = doctor.outcome(doctor._APPLY[layers.LIMITS], doctor._ALONE[layers.LIMITS][tried])
    assert held, said


def test_inside_all_layers_nothing_works_that_a_cell_tries():
    if AVAILABLE.insufficient():
        pytest.skip(AVAILABLE.insufficient())
    proofs = list(doctor._together(AVAILABLE))
    assert len(proofs) == len(doctor.CELL)
    assert not [proof for proof in proofs if not proof.held]


@pytest.mark.parametrize("missing", [(layers.SECCOMP,), (layers.LANDLOCK, layers.BUBBLEWRAP)])
def test_strangers_are_refused_where_a_layer_that_counts_is_missing(missing: tuple[str, ...]):
    every = layers.Layers(
        (layers.BUBBLEWRAP, layers.NAMESPACES, layers.LANDLOCK, layers.SECCOMP, layers.LIMITS)
    )
    assert every.insufficient() == ""
    with pytest.raises(NotConfined, match="Students' code is not run here"):
        SandboxServer(every.without(*missing))


def test_a_proof_says_whether_its_layer_held():
    assert "holds   opens a socket: PermissionError" in str(
        doctor.Proof(layers.SECCOMP, True, "opens a socket", True, "PermissionError")
    )
    assert "BROKEN" in str(doctor.Proof(layers.SECCOMP, True, "opens a socket", False, "it worked"))
    assert "absent" in str(doctor.Proof(layers.SECCOMP, False, detail=doctor.ABSENT))


def test_what_lies_in_a_folder_that_may_be_read_is_not_named_again():
    paths = [
        "/usr/lib",
        "/usr/lib/python3/sitecustomize.py",
        "/opt/x/lib/a.py",
        "/opt/x/lib/b.py",
        "/usr/lib64",
    ]
    assert layers.uppermost(paths) == ["/usr/lib", "/opt/x/lib/a.py", "/opt/x/lib/b.py", "/usr/lib64"]
