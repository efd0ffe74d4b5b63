"""A cache of the results of the course's launchers that an answer calls, kept between edited runs.

An edit of the learner's text does not change them. `delta_preprocess`, for example, takes half of the time of
a backward pass in the observed interpreter, and returns the same numbers for the same O and dO.
"""

from __future__ import annotations

import types
from collections.abc import Callable, Sequence
from typing import Any

import torch

from flashlearn.interpreter.session import Session

MAX_CALLS = 12
"""Cached calls of each launcher."""


class LauncherCache:
    """Arguments of the course's launchers, with the tensors that they returned."""

    def __init__(self) -> None:
        self.kept: dict[str, list[tuple[tuple, dict, Any]]] = {}
        self.not_launching: set[str] = set()

    def install(self, launcher: Callable[..., Any], file: str, sessions: Sequence[Session]) -> None:
        """Replace the course's functions that a launcher calls by cached ones, in the launcher's namespace.

        Functions of the learner's own `file` are not replaced; a function that launches nothing is not
        cached.
        """
        if not isinstance(launcher, types.FunctionType):
            return
        names = launcher.__globals__
        for name in launcher.__code__.co_names:
            one = names.get(name)
            course = isinstance(one, types.FunctionType) and one.__module__.partition(".")[0] == "flashlearn"
            if course and one.__code__.co_filename != file:
                names[name] = self._cached(one, sessions)

    def _cached(self, function: types.FunctionType, sessions: Sequence[Session]) -> Callable[..., Any]:
        key = f"{function.__module__}.{function.__qualname__}"
        kept = self.kept.setdefault(key, [])

        def cached(*given: Any, **named: Any) -> Any:
            if key in self.not_launching:
                return function(*given, **named)
            for known, under, returned in kept:
                if _all_equal(known, given) and _all_equal(tuple(under.items()), tuple(named.items())):
                    return _copy(returned)
            before = len(sessions[-1].launches) if sessions else 0
            copies = _copy(given), {name: _copy(value) for name, value in named.items()}
            returned = function(*given, **named)
            launched = bool(sessions) and len(sessions[-1].launches) > before
            if not launched:
                self.not_launching.add(key)
            if launched and len(kept) < MAX_CALLS and _is_fresh(returned, (*given, *named.values())):
                kept.append((*copies, _copy(returned)))
            return returned

        return cached


def _tensors(value: Any) -> list[torch.Tensor]:
    parts = value if isinstance(value, tuple | list) else (value,)
    return [part for part in parts if isinstance(part, torch.Tensor)]


def _copy(value: Any) -> Any:
    """The same with copies of its tensors, laid out as they were."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone(memory_format=torch.preserve_format)
    return tuple(map(_copy, value)) if isinstance(value, tuple) else value


def _is_fresh(returned: Any, given: tuple) -> bool:
    """True for one tensor or a tuple of dense ones, none of which shares its memory with an argument."""
    parts = returned if isinstance(returned, tuple) else (returned,)
    if not parts or not all(isinstance(p, torch.Tensor) and p.is_contiguous() for p in parts):
        return False
    theirs = {tensor.untyped_storage()._cdata for value in given for tensor in _tensors(value)}
    return all(part.untyped_storage()._cdata not in theirs for part in parts)


def _all_equal(known: tuple, given: tuple) -> bool:
    return len(known) == len(given) and all(map(_equal, known, given))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor) and isinstance(other, torch.Tensor):
        alike = one.dtype == other.dtype and one.shape == other.shape and one.stride() == other.stride()
        return alike and torch.equal(one, other)
    if isinstance(one, tuple) and isinstance(other, tuple):
        return _all_equal(one, other)
    return type(one) is type(other) and isinstance(one, int | float | str | None) and one == other
