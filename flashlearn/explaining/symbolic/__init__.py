"""Naming the mistake in a sympy answer: `predictions`, `exchanges` and `factor_meaning` → `naming`."""

from flashlearn.explaining.symbolic.naming import name_mistake

__all__ = ["name_mistake"]
