"""Route triton's launches to a session, and put triton back as it was.

`JITFunction.run` and its relatives are patched on the class, so that kernels held in closures,
attributes or dictionaries are reached too. On a machine without a GPU the route stays installed:
then a launch outside any check is observed as well, and a pointer out of bounds is a sentence, not a crash.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Sequence
from typing import Any

from triton.runtime.autotuner import Autotuner
from triton.runtime.interpreter import InterpretedFunction
from triton.runtime.jit import JITFunction

from flashlearn.interpreter import newer_triton
from flashlearn.interpreter.errors import LaunchError
from flashlearn.interpreter.launcher_watch import LauncherWatch, noting_raw_pointers
from flashlearn.interpreter.observer import Observer
from flashlearn.interpreter.session import LaunchResult, Session

newer_triton.adapt()  # it imports Gluon, whose classes must exist before JITFunction is patched

_current: list[Session] = []
_running: list[Session] = []
_originals: dict[tuple[type, str], Any] = {}


def _run(self, *args, grid, warmup=False, **kwargs):
    if warmup:
        return LaunchResult(self)
    session = _current[-1] if _current else Session()
    _running.append(session)
    try:
        for hook in getattr(self, "pre_run_hooks", ()):
            hook(*args, **kwargs)
        return session.launch(self, grid, args, kwargs)
    except LaunchError as error:
        if _current:
            raise
        raise error.with_traceback(None) from None  # a launch of the learner's own: the sentence is enough
    finally:
        _running.pop()


def _call(self, *args, **kwargs):
    if not _running:
        raise RuntimeError("A @triton.jit function is launched with kernel[grid](…), not called.")
    return _running[-1].call(self, args, kwargs)


def _run_autotuned(self, *args, **kwargs):
    config = self.configs[0]  # nothing can be timed here, so the first configuration represents all
    chosen = config.all_kwargs()
    if config.pre_hook is not None:
        config.pre_hook({**dict(zip(self.arg_names, args, strict=False)), **kwargs, **chosen})
    return self.fn.run(*args, **{**kwargs, **chosen})


_PATCHES = {
    (JITFunction, "run"): _run,
    (JITFunction, "__call__"): _call,
    (InterpretedFunction, "run"): _run,
    (InterpretedFunction, "__call__"): _call,
    (Autotuner, "run"): _run_autotuned,
}


def install() -> None:
    """Route every launch from now on. Harmless when it is installed already."""
    if not _originals:
        for (owner, name), replacement in _PATCHES.items():
            _originals[owner, name] = owner.__dict__.get(name)
            setattr(owner, name, replacement)


def uninstall() -> None:
    """Give triton its own methods back."""
    for (owner, name), original in _originals.items():
        if original is None:
            delattr(owner, name)
        else:
            setattr(owner, name, original)
    _originals.clear()


def installed() -> bool:
    """True while launches are routed."""
    return bool(_originals)


@contextlib.contextmanager
def apart(seed: int | None = None, session: Session | None = None) -> Iterator[Session]:
    """A session of its own for the launches inside the block; a check that is running sees none of them."""
    session = session or Session(seed)
    was_installed = installed()
    install()
    _current.append(session)
    try:
        yield session
    finally:
        _current.remove(session)
        if not was_installed:
            uninstall()


@contextlib.contextmanager
def observing(
    seed: int | None = None,
    undefined: float = math.nan,
    fresh: float = math.nan,
    observers: Sequence[Observer] = (),
) -> Iterator[tuple[Session, LauncherWatch]]:
    """Observe the launches made inside the block; also watch what torch does there.

    With a `seed`, programs run in shuffled order. `undefined` fills the lanes that a mask hides from a
    load without `other=`, `fresh` the memory that torch.empty gives out. `observers` watch too.
    """
    if _current:
        raise RuntimeError("a check is running already: a function that is being checked cannot call check")
    session = Session(seed, undefined)
    session.memory.subscribe(*observers)
    was_installed = installed()
    install()
    _current.append(session)
    try:
        kept = noting_raw_pointers(session.memory.raw_pointers, lambda: bool(_running))
        with kept, LauncherWatch(session.memory, fresh) as watch:
            yield session, watch
    finally:
        _current.clear()
        if not was_installed:
            uninstall()
