"""How a learner's function is called with a draw of inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flashlearn.exercise import Inputs


@dataclass(frozen=True)
class Caller:
    """How to call a function with a draw of inputs; `function` is the learner's own, to find its lines by."""

    call: Callable[[Inputs], Any]
    function: Callable[..., Any]
