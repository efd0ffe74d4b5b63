"""A quick no: one exact point at which an answer has other values than the right one.

An edited formula is wrong nearly always, and one point shows it. What agrees there is still to be compared as
every answer is. What has no value there is refused as well: an edit need not be found, it must be right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import sympy as sp

from flashlearn.judging.symbolic import comparison, points, sampling_plan, screening, symbols
from flashlearn.judging.symbolic.evaluation import TooLarge
from flashlearn.judging.symbolic.exact_numbers import Undefined
from flashlearn.judging.symbolic.forms import read
from flashlearn.judging.symbolic.unreadable import Unreadable


class QuickRefusal:
    """The right values of a case's outputs at one generic point, computed once."""

    def __init__(self, wanted: Mapping[str, Any], given: Mapping[str, Any]):
        self.wanted = wanted
        forms = {name: read(value, value) for name, value in wanted.items()}
        right = [e for form in forms.values() for e in form.expressions()]
        self.allowed = [*symbols.flatten(dict(given)), *right]
        free = [s for s in symbols.symbols(self.allowed) if isinstance(s, sp.Symbol)]
        draft = sampling_plan.plan([*right, *sorted(free, key=str)], given)

        def roughness(candidate: sampling_plan.Plan) -> int:
            return sum(comparison.roughness(form, form, candidate) for form in forms.values())

        self.point, self.values = None, {}
        for point in points.generic(sampling_plan.choose(draft, roughness)):
            try:
                self.values = {name: comparison.cells(form, point) for name, form in forms.items()}
            except (Undefined, TooLarge):
                continue
            self.point = point
            break

    def differs(self, output: str, got: Any) -> bool:
        """True if the answer `got` to an output has other values than the right one, or none."""
        if self.point is None:
            return False
        try:
            form, _, _ = symbols.adopt(read(self.wanted[output], got), self.allowed)
            yours = comparison.cells(screening.rational(form)[0], self.point)
        except (Unreadable, Undefined, TooLarge):
            return True
        right = self.values[output]
        return right.keys() != yours.keys() or any(not _same(right[key], yours[key]) for key in right)


def _same(right: Any, yours: Any) -> bool:
    return right == yours or comparison.same_value(right, yours)[0]
