"""The hooks of lesson 15's exercises by name: yours where their exercise has passed, the course's elsewhere.

    >>> from flashlearn.course.own_hooks import capped_score, window_mask

What `take` is given (functions that `assemble` found in this session and in your notebooks) comes first. A
hook that your cell calls by another name is the course's.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from flashlearn.course import answers
from flashlearn.lessons import find

EXERCISES = {
    "gqa": ("group_key_head", "group_query_heads"),
    "sliding_window": ("window_mask", "window_keys", "window_queries"),
    "softcap": ("capped_score", "capped_gradient"),
    "alibi": ("score_with_distance",),
    "varlen": ("packed_sequence", "listed_query_block", "listed_key_block", "block_list"),
    "dropout": ("kept_weights",),
    "sinks": ("sink_start", "sink_gradient_kernel"),
}
"""The exercises, and what each of their cells defines besides the exercise's own function."""
_EXERCISE_OF = {hook: exercise for exercise, hooks in EXERCISES.items() for hook in hooks}
_taken: dict[str, Any] = {}


def take(functions: Mapping[str, Any]) -> None:
    """From here on, hooks are those that belong to these functions, by the names of their exercises."""
    _taken.update(functions)


def hook(name: str) -> Any:
    """The hook of this name. KeyError for a name that no exercise of lesson 15 has."""
    exercise = _EXERCISE_OF[name]
    function = _taken.get(exercise) or answers.passed_or_solution(exercise)
    course_s = answers.solution(find(exercise)).__globals__[name]
    return getattr(function, "__globals__", {}).get(name, course_s)


def __getattr__(name: str) -> Any:
    if name not in _EXERCISE_OF:
        raise AttributeError(f"no exercise of lesson 15 has a hook {name!r}", name=name)
    return hook(name)
