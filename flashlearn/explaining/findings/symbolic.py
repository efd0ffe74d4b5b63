"""Symbolic answers: patterns of what is wrong, and answers that could not be compared."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.judging.symbolic import formatting
from flashlearn.judging.symbolic.clauses import clause
from flashlearn.judging.symbolic.patterns import Pattern
from flashlearn.outcome import FindingKind, Wording

TRANSPOSED = "Row k holds the derivatives of output k: what is k in your entry (0, 1)?"

PATTERN_STEPS = {
    "index range": (
        "Compare the limits of your sums with the exercise's: where does each index begin and end?"
    ),
    "transposed": TRANSPOSED,
    "transposed and sign": TRANSPOSED,
    "missing off-diagonal": "Ask what output k does when input j ≠ k changes.",
    "missing diagonal": "Work out the case k = j by itself.",
    "zero": "Which term became zero, or was never added?",
    "sign": "Follow the minus sign through the derivation.",
    "constant factor": "Is there a factor too many, or one too few?",
    "factor": "Ask where {symbol} enters.",
    "constant offset": "Which constant was added?",
}
"""The next step for each pattern, with its facts where it needs them."""

RULE_STEPS = {
    "wrong type": "Return a sympy expression built from the arguments.",
    "wrong shape": "Compare the shape of what you return with the exercise's text.",
    "transposed": "Transpose your result with .T. Which of the two indices numbers the rows?",
    "unevaluated": "Call .doit() on the result before you return it.",
    "unknown symbol": "Use the symbols that your function is given, not new ones.",
    "undefined": "Try your function with small numbers by hand: where does it divide by zero?",
}
"""The next step for each reason why an answer could not be compared."""


@dataclass(frozen=True)
class ErrorPattern(FindingKind):
    """A pattern that holds of the error everywhere; `output` is None where there is but one.

    The verdict on `case`, the first, has said the same with an example; of several outputs it names one.
    """

    name = "pattern"

    pattern: Pattern
    case: str = ""
    output: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The pattern's name."""
        return (self.pattern.name,)

    def wording(self) -> Wording:
        """The pattern in words."""
        sentence = f"{_about(self.output, clause(self.pattern))}."
        step = PATTERN_STEPS[self.pattern.name].format(**self.pattern.facts)
        return Wording(sentence, step, "" if self.output else self.case)


@dataclass(frozen=True)
class NotCompared(FindingKind):
    """The form of the answer is wrong by a `rule`: the verdict on `case` has said how, in `seen`."""

    name = "not compared"

    rule: str
    seen: str
    case: str = ""
    output: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The rule's name."""
        return (self.rule,)

    @property
    def hides(self) -> bool:  # type: ignore[override]
        """Unless the entries were compared all the same."""
        return self.rule != "transposed"

    def wording(self) -> Wording:
        """What the verdict has said, and how to get an answer that can be compared."""
        sentence = _about(self.output, self.seen)
        return Wording(sentence, RULE_STEPS.get(self.rule, ""), "" if self.output else self.case)


@dataclass(frozen=True)
class Swapped(FindingKind):
    """Two outputs in each other's place; those in `transposed` are transposed as well.

    With `wrong`, one of the two, that one is not right even in the other's place.
    """

    name = "swapped"

    outputs: tuple[str, str]
    transposed: tuple[str, ...] = ()
    wrong: str = ""

    def wording(self) -> Wording:
        """Which two, and what else is wrong with them."""
        a, b = self.outputs
        order = f"Return {a}, {b} in this order."
        if self.wrong:
            found = b if self.wrong == a else a
            turned = ", transposed" if self.transposed else ""
            return Wording(
                f"There are two mistakes. (1) What you return as {self.wrong} is the right {found}{turned}. "
                f"(2) What you return as {found} is not the right {self.wrong}.",
                f"(1) {order} (2) Compare your {self.wrong} with its formula, term by term.",
            )
        if not self.transposed:
            return Wording(f"{a} and {b} are swapped.", order)
        turned = " and ".join(self.transposed)
        are = "is" if len(self.transposed) == 1 else "are"
        return Wording(
            f"There are two mistakes. (1) {a} and {b} are swapped: what you return as {a} belongs in the "
            f"place of {b}. (2) {turned} {are} transposed.",
            f"(1) {order} (2) Which index of {turned} numbers the rows?",
        )


@dataclass(frozen=True)
class ArgumentsExchanged(FindingKind):
    """Two arguments exchanged."""

    name = "arguments exchanged"

    arguments: tuple[str, str]

    def wording(self) -> Wording:
        """Which two."""
        a, b = self.arguments
        return Wording(
            f"Your answer is the right one for {a} and {b} in each other's place.",
            f"Follow {a} and {b} through your function, line by line: is one in the other's place, or is a "
            "term missing where they are used?",
        )


def _about(output: str | None, sentence: str) -> str:
    """What is said of the only output, or of one of several, whose name comes first."""
    return formatting.after_name(output, sentence) if output else formatting.capital(sentence)
