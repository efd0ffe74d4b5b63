"""What the course's kernels name is there in the installed triton, by the names that they use."""

from __future__ import annotations

import ast
import importlib
import inspect
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import triton.language as tl
from triton import knobs
from triton.runtime.interpreter import TensorHandle

import flashlearn
from flashlearn.compiler import worker
from flashlearn.interpreter import newer_triton
from flashlearn.interpreter.gluon.operations import GluonOperations

PACKAGE = Path(flashlearn.__file__).parent
KERNELS = [
    path
    for folder in ("kernels", "lessons")
    for path in sorted((PACKAGE / folder).rglob("*.py"))
    if path.name != "notebook.py" and ".jit\n" in path.read_text()
]


def names(path: Path) -> Iterator[tuple[str, ModuleType, list[str]]]:
    """Each name that a module takes from triton: as written, such as `tma.wait`, its root, the rest."""
    module = importlib.import_module(".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts))
    for node in ast.walk(ast.parse(path.read_text())):
        parts, inner = [], node
        while isinstance(inner, ast.Attribute):
            parts, inner = [inner.attr, *parts], inner.value
        root = getattr(module, inner.id, None) if isinstance(inner, ast.Name) else None
        if parts and isinstance(root, ModuleType) and root.__name__.startswith("triton"):
            yield ast.unparse(node), root, parts


def is_gone(root: object, parts: list[str]) -> bool:
    """Whether a name is missing, or what bears it only says that it was removed."""
    for part in parts:
        if not hasattr(root, part):
            return True
        root = getattr(root, part)
    return inspect.isfunction(root) and "has been removed" in inspect.getsource(root)


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_triton_has_every_name_that_a_kernel_uses(path: Path):
    assert {written for written, root, parts in names(path) if is_gone(root, parts)} == set()


def test_the_search_finds_the_copy_engine_s_names_and_what_was_removed():
    found = {written for written, _, _ in names(PACKAGE / "kernels/gluon/tma_copy.py")}
    assert {"tma.async_copy_global_to_shared", "tma.store_wait", "gl.program_id", "gluon.jit"} <= found

    def old(*_):
        raise RuntimeError("old has been removed; call new instead")

    assert is_gone(SimpleNamespace(old=old), ["old"]) and is_gone(tl, ["no_such_name"])
    assert not is_gone(tl, ["math", "exp2"])


@pytest.mark.parametrize("adapt", [newer_triton.adapt, lambda: worker._name(newer_triton.RENAMED)])
def test_what_was_renamed_has_its_older_name_and_what_was_not_stays(monkeypatch, adapt):
    def removed():
        raise RuntimeError("old has been removed; call new instead")

    newer = SimpleNamespace(old=removed, new=lambda: "new", Kind=type("Kind", (), {"made": lambda self: 1}))
    older = SimpleNamespace(old=lambda: "old")
    monkeypatch.setitem(sys.modules, "newer", newer)
    monkeypatch.setitem(sys.modules, "older", older)
    table = (("newer", "", "old", "new"), ("newer", "Kind", "_made", "made"), ("older", "", "old", "new"))
    monkeypatch.setattr(newer_triton, "RENAMED", table)
    adapt()
    assert (newer.old(), newer.Kind()._made(), older.old()) == ("new", 1, "old")
    assert not hasattr(older, "new")


def test_everything_that_was_renamed_exists_here_by_its_older_name():
    for module, kind, older, _ in newer_triton.RENAMED:
        owner = importlib.import_module(module)
        assert not is_gone(getattr(owner, kind) if kind else owner, [older])


@pytest.mark.parametrize("chosen", [None, "0"])
def test_fused_multiply_add_stays_the_default_unless_it_was_chosen(monkeypatch, chosen):
    monkeypatch.delenv(newer_triton.FUSED, raising=False)
    if chosen is not None:
        monkeypatch.setenv(newer_triton.FUSED, chosen)
    monkeypatch.setattr(knobs.language, "fp_fusion_enabled", lambda requested: True, raising=False)
    newer_triton.adapt()
    assert os.environ[newer_triton.FUSED] == (chosen or "1")


@pytest.mark.parametrize("given", [["pred"], [0, "pred"], ["pred", None, 0]], ids=["3.7", "3.8", "3.9"])
@pytest.mark.parametrize("arrives", [True, False])
def test_a_barrier_s_predicate_is_found_where_each_triton_passes_it(given: list, arrives: bool):
    seen = []
    builder = SimpleNamespace(block=SimpleNamespace(arrive=lambda view, count: seen.append((view, count))))
    pred = TensorHandle(np.array([arrives]), tl.int1)
    rest = [pred if one == "pred" else one for one in given]
    GluonOperations.create_mbarrier_arrive(builder, "barrier", 2, *rest)
    assert seen == [("barrier", 2)] * arrives
