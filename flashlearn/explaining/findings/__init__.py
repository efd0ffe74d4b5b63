"""The kinds of findings, each in a module of its own, or with its close relatives.

A kind is a frozen dataclass: what it is called, its facts, its traits (`flashlearn.outcome.FindingKind`) and
its wording; a rule (`rule.Rule`) also knows how it is seen in wrong numbers, and its rank among the rules.

>>> from flashlearn.explaining.findings.zero_sign_constants import Sign
>>> Finding(Sign("dq")).sentence
'dq has the right magnitude but the opposite sign.'

Nothing is registered: every module of this package is found, and with it its kinds.
"""

from __future__ import annotations

import importlib
import pkgutil

from flashlearn.explaining.findings.rule import Rule
from flashlearn.outcome import FindingKind


def _kinds() -> dict[str, type[FindingKind]]:
    """The classes with a name in every module of this package, by that name.

    Raises ValueError for a name that two kinds have.
    """
    found: dict[str, type[FindingKind]] = {}
    for module in pkgutil.iter_modules(__path__, f"{__name__}."):
        for kind in vars(importlib.import_module(module.name)).values():
            named = isinstance(kind, type) and issubclass(kind, FindingKind) and "name" in vars(kind)
            if named and kind.__module__ == module.name:
                if kind.name in found:
                    raise ValueError(f"two kinds of findings are called {kind.name!r}")
                found[kind.name] = kind
    return found


KINDS = _kinds()
"""Every kind by its name."""

RULES: tuple[type[Rule], ...] = tuple(
    sorted((kind for kind in KINDS.values() if issubclass(kind, Rule)), key=lambda rule: rule.rank)
)
"""The rules in the order in which they are asked."""

SURE = tuple(rule for rule in RULES if not rule.vague)
"""Rules that name what was done: the numbers leave no other reading."""

VAGUE = tuple(rule for rule in RULES if rule.vague)
"""Rules that say where to look."""

__all__ = ["KINDS", "RULES", "SURE", "VAGUE"]
