"""Symbolic answers: patterns of what is wrong, and answers that could not be compared."""

from __future__ import annotations

from flashlearn.explaining.wording.kinds import Wording, kind
from flashlearn.judging.symbolic import formatting
from flashlearn.judging.symbolic.clauses import clause
from flashlearn.judging.symbolic.patterns import Pattern

TRANSPOSED = "Row k holds the derivatives of output k: which is k in your entry (0, 1)?"
PATTERNS = {
    "index range": (
        "Compare the limits of your sums with the exercise's: from where to where do its indices run?"
    ),
    "transposed": TRANSPOSED,
    "transposed and sign": TRANSPOSED,
    "missing off-diagonal": "Ask what output k does when input j ≠ k changes.",
    "missing diagonal": "Work out the case k = j by itself.",
    "zero": "Which term was multiplied away, or never added?",
    "sign": "Follow the minus through the derivation.",
    "constant factor": "Look for a number too many, or one that was dropped.",
    "factor": "Ask where {symbol} enters.",
    "constant offset": "Which constant was added?",
}
"""The next step for each pattern, with its facts where it needs them."""

RULES = {
    "wrong type": "Return a sympy expression built from the arguments.",
    "wrong shape": "Compare the shape of what you return with the exercise's text.",
    "transposed": "Transpose it with .T, and ask which of the two index the rows belong to.",
    "unevaluated": "Call .doit() on the result before you return it.",
    "unknown symbol": "Use the symbols that your function is given, not new ones.",
    "undefined": "Try your function with small numbers by hand: where does it divide by zero?",
}
"""The next step for each reason why an answer could not be compared."""


@kind("pattern")
def pattern(pattern: Pattern, output: str | None, case: str = "") -> Wording:
    """Something that holds of the error everywhere; `output` is None where there is but one.

    The verdict on `case`, the first, has said the same with an example; of several outputs it names one.
    """
    sentence = f"{_of(output)}{formatting.capital(clause(pattern))}."
    return Wording(sentence, PATTERNS[pattern.name].format(**pattern.facts), "" if output else case)


@kind("not compared")
def not_compared(rule: str, seen: str, output: str | None, case: str = "") -> Wording:
    """The form of the answer is wrong: the verdict has said how."""
    return Wording(f"{_of(output)}{formatting.capital(seen)}", RULES.get(rule, ""), "" if output else case)


@kind("swapped")
def swapped(outputs: tuple[str, str]) -> Wording:
    """Two outputs in each other's place."""
    a, b = outputs
    return Wording(f"{a} and {b} are in each other's place.", f"Return {a}, {b} in this order.")


@kind("arguments exchanged")
def arguments_exchanged(arguments: tuple[str, str]) -> Wording:
    """Two arguments taken for each other."""
    a, b = arguments
    return Wording(
        f"Your answer has {a} and {b} in each other's place: with the two exchanged, it is right.",
        f"Follow {a} through your function, line by line: where does it stand for {b}?",
    )


def _of(output: str | None) -> str:
    return f"{output}: " if output else ""
