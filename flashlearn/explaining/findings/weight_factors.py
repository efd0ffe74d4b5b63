"""Weights P that are off by a factor, per row or per tile, or of another exponent."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.outcome import FindingKind, Wording


@dataclass(frozen=True)
class RowsOfPFactor(FindingKind):
    """Right within each row, up to `factors` from … to …; `recomputed` where P comes from a given LSE."""

    name = "rows of P off by a factor"
    called = ("rows do not sum to 1",)

    case: str
    factors: tuple[float, float]
    recomputed: bool

    def wording(self) -> Wording:
        """The factors, and what rows are divided by."""
        sentence = (
            f"Each row of P is the right one times a factor of its own, {self.factors[0]:.3g} to "
            f"{self.factors[1]:.3g} in one head (case {self.case}), so the weights of a row do not sum to 1"
        )
        if self.recomputed:
            return Wording(
                f"{sentence}, as if another number were subtracted in place of LSE.",
                "Which number is subtracted from the scores of these rows, and what else is each row of P "
                "multiplied by?",
            )
        return Wording(
            f"{sentence}.",
            "By which number is each row of O divided, and is it the sum of the row's weights?",
        )


@dataclass(frozen=True)
class QueriesCountedAgain(FindingKind):
    """`count` rows of P, of `queries` from … to …, that are `times` the right ones; the others are right."""

    name = "queries counted again"
    called = ("rows do not sum to 1",)

    case: str
    queries: tuple[int, int]
    times: int
    count: int

    def wording(self) -> Wording:
        """Which queries, and how often they count."""
        first, last = self.queries
        whole = self.count == last - first + 1
        which = (
            f"Query {first} counts"
            if first == last
            else f"Queries {first} to {last} count"
            if whole
            else f"{self.count} of the queries {first} to {last} count"
        )
        often = {2: "twice"}.get(self.times, f"{self.times} times")
        rows = "its row of P is" if first == last else "their rows of P are"
        return Wording(
            f"{which} {often}: {rows} exactly {self.times} "
            f"times the right ones, and the others are right (case {self.case}).",
            "Which programs, or rounds of a loop, visit these queries, and where does one's part end and the "
            "next one's begin?",
        )


@dataclass(frozen=True)
class QueriesCountedSeveralTimes(FindingKind):
    """Rows of P that are whole multiples of the right ones, from `fewest` to `most` times."""

    name = "queries counted several times"
    called = ("rows do not sum to 1", "queries counted again")

    case: str
    fewest: int
    most: int

    def wording(self) -> Wording:
        """How often the queries count."""
        return Wording(
            f"Some queries count more often than others: each row of P is a whole multiple of the right one, "
            f"{self.fewest} to {self.most} times it (case {self.case}).",
            "Which programs, or rounds of a loop, visit each query? Where does one's part end, and the next "
            "one's begin?",
        )


@dataclass(frozen=True)
class BoundedLse(FindingKind):
    """Rows of P, right up to exp(LSE − max(LSE, bound)), or with min where LSE has an `upper` bound."""

    name = "LSE is bounded"

    case: str
    bound: float
    upper: bool
    count: int
    total: int

    def wording(self) -> Wording:
        """The bound, and what it does to the rows whose LSE is beyond it."""
        zero = abs(self.bound) < 5e-4
        bound, difference = ("0", "LSE") if zero else (f"{self.bound:.3g}", f"LSE − {self.bound:.3g}")
        never, beyond = ("above", "larger") if self.upper else ("below", "smaller")
        return Wording(
            f"P was recomputed as if LSE were never {never} {bound}: for at least {self.count} of "
            f"{self.total} queries of one head it is {beyond}, and their rows of P are the right ones "
            f"times exp({difference}) (case {self.case}).",
            "Which line changes LSE before it is subtracted? Every finite LSE is needed as it is; only −∞ "
            "may be replaced.",
        )


@dataclass(frozen=True)
class TilesCountedTwice(FindingKind):
    """Tiles of `block` keys that are added more than once."""

    name = "tiles counted twice"

    block: int
    case: str

    def wording(self) -> Wording:
        """How often tiles count."""
        return Wording(
            f"Some tiles of {self.block} keys count two or more times as much as others (case "
            f"{self.case}): they are added more than once.",
            "Do two loops, or two iterations, visit the same tile?",
        )


@dataclass(frozen=True)
class NotRescaled(FindingKind):
    """What was summed before was not rescaled to the new maximum."""

    name = "not rescaled"

    block: int
    case: str

    def wording(self) -> Wording:
        """Which tiles count by another factor."""
        return Wording(
            f"Within a tile of {self.block} keys the weights of a row are in the right proportions, but not "
            f"between tiles (case {self.case}): what was summed before a new maximum has a different factor "
            "from what came after it.",
            "All that is in l and acc must belong to one m: what is added as exp(S − m_new), and what was "
            "summed so far multiplied by exp(m_old − m_new). Which of these differs in your lines?",
        )


@dataclass(frozen=True)
class SlopeOfScores(FindingKind):
    """log P is a straight line in S whose slope is `factor`, which has a `meaning` where that is known."""

    called = ("constant factor",)

    case: str
    factor: float
    meaning: str

    @property
    def power(self) -> str:
        """The factor in figures, with its meaning."""
        return f"{self.meaning} ({self.factor:.3g})" if self.meaning else f"{self.factor:.3g}"


@dataclass(frozen=True)
class ScoresTimesNumber(SlopeOfScores):
    """P is a softmax of other scores."""

    name = "scores times a number"

    def wording(self) -> Wording:
        """The factor of the scores."""
        return Wording(
            f"P is a softmax of the right scores times {self.power}: the exponent is off by that factor in "
            f"every pair (case {self.case}).",
            "Which factors are applied between q · k and the exponential?",
        )


@dataclass(frozen=True)
class PToAPower(SlopeOfScores):
    """Every weight is the right one to this power; `recomputed` where P comes from a given LSE."""

    name = "P to a power"

    recomputed: bool

    def wording(self) -> Wording:
        """The power."""
        return Wording(
            f"The weights are P to the power {self.power} instead of P, pair by pair, and rows do not sum to "
            f"1 (case {self.case}).",
            "Is P multiplied by itself, or is the whole exponent, including "
            f"{'LSE' if self.recomputed else 'the maximum'}, multiplied by a number?",
        )


@dataclass(frozen=True)
class ExponentTimesNumber(SlopeOfScores):
    """Within a row as for scores times a number, and rows do not sum to 1."""

    name = "exponent times a number"

    def wording(self) -> Wording:
        """The power of exp(S)."""
        return Wording(
            f"Within each row the weights are proportional to exp(S) to the power {self.power} instead of "
            f"exp(S), and they do not sum to 1 (case {self.case}).",
            "Which factor does S have in the exponent, and does it have the same factor in the sum that the "
            "weights are divided by?",
        )
