"""What an answer must not contain: nan, divisions by zero, derivatives left undone, rounded numbers."""

from __future__ import annotations

from fractions import Fraction

import sympy as sp

from flashlearn.judging.symbolic import formatting, proofs
from flashlearn.judging.symbolic.forms import Form
from flashlearn.judging.symbolic.unreadable import Unreadable

UNEVALUATED = {
    sp.Derivative: "derivative",
    sp.Integral: "integral",
    sp.Limit: "limit",
    sp.Subs: "substitution",
}
DOIT_SECONDS = 2.0


def _has(form: Form, kind: object) -> bool:
    return any(e.has(kind) for e in form.expressions())


def reject_undefined(form: Form, truth: Form) -> None:
    """Raise Unreadable if the answer holds nan or zoo, and the truth does not."""
    for bad, what in (
        (sp.nan, "nan"),
        (sp.zoo, "a division by 0 or a logarithm of 0"),
    ):
        if _has(form, bad) and not _has(truth, bad):
            raise Unreadable(
                f"your answer contains {what}: an intermediate result is undefined. In which step?",
                "undefined",
            )


def reject_unevaluated(form: Form, truth: Form) -> None:
    """Raise Unreadable if a derivative, integral, limit or substitution is only written down."""
    for kind, noun in UNEVALUATED.items():
        if not _has(form, kind) or _has(truth, kind):
            continue
        found = min((a for e in form.expressions() for a in e.atoms(kind)), key=lambda a: len(str(a)))
        done = proofs.within(DOIT_SECONDS, lambda: form.map(lambda leaf: leaf.doit()))
        text = formatting.short(formatting.tidy(str(found)))
        raise Unreadable(
            f"your answer still holds an unevaluated {noun}, {text}: call .doit() on it.",
            "unevaluated",
            done.plain() if isinstance(done, Form) and not _has(done, kind) else None,
        )


def rational(form: Form) -> tuple[Form, tuple[str, ...]]:
    """The answer with floats replaced by the rationals they represent, and a warning if one is rounded."""
    floats = sorted({f for e in form.expressions() for f in e.atoms(sp.Float)}, key=str)
    if not floats:
        return form, ()
    exact = {f: fraction(f) for f in floats}
    rational_form = form.map(lambda leaf: leaf.xreplace(exact))
    rounded = next((f for f in floats if sp.Rational(f) != exact[f]), None)  # 0.5 is 1/2
    if rounded is None:
        return rational_form, ()
    reading = f"{float(rounded):.6g}; it was read as {formatting.show(exact[rounded])}"
    warning = f"Your answer contains a rounded number, {reading}. Use sp.Rational to stay exact."
    return rational_form, (warning,)


def fraction(value: sp.Float) -> sp.Expr:
    """The rational that a rounded number most likely represents (1/10 for 0.1, 1/3 for 0.333333333333)."""
    written = Fraction(str(value))
    near = written.limit_denominator(10_000)
    if abs(written - near) <= Fraction(1, 10**12) * max(abs(near), Fraction(1, 10**6)):
        return sp.Rational(near.numerator, near.denominator)
    return sp.nsimplify(value, tolerance=1e-13)
