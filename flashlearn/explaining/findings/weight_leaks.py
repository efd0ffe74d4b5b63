"""Weights P of pairs that a mask hides."""

from __future__ import annotations

from dataclasses import dataclass

from flashlearn.outcome import FindingKind, Wording

Pair = tuple[int, int]


@dataclass(frozen=True)
class WeightLeak(FindingKind):
    """Weight where there must be none: `first_pair` is (query, key)."""

    called = ("leak from the future",)

    case: str

    @property
    def first_pair(self) -> Pair:
        """The first hidden pair that has weight."""
        raise NotImplementedError


@dataclass(frozen=True)
class BlindQueries(WeightLeak):
    """`count` of `total` queries that see no key have weights, the `first` for the `keys` from … to …

    The other queries' weights may be right: then `others_right`.
    """

    name = "weights of queries that see nothing"

    count: int
    total: int
    first: int
    keys: Pair
    others_right: bool = True

    @property
    def first_pair(self) -> Pair:
        """The first query and its first key."""
        return self.first, self.keys[0]

    def wording(self) -> Wording:
        """How many such queries there are."""
        return Wording(
            f"Queries that may see no key still get weights: {self.count} of {self.total} queries in "
            f"case {self.case}. The first is query {self.first}, with weight on keys {self.keys[0]} to "
            f"{self.keys[1]}.{' The others are right.' if self.others_right else ''}",
            "What are the scores of a row in which every key is hidden? A large negative number in place of "
            "−∞ is its maximum like any other, and exp(0) is 1.",
        )


@dataclass(frozen=True)
class VisiblePairLeak(WeightLeak):
    """Keys from the future have weight; the first `pair`'s query may see keys up to `last`, None for no
    key."""

    pair: Pair
    last: int | None

    @property
    def first_pair(self) -> Pair:
        """The pair."""
        return self.pair

    def _first(self) -> str:
        sees = "key 0 alone" if self.last == 0 else f"keys 0 to {self.last}" if self.last else "no key"
        query, key = self.pair
        return f"the first is key {key} of query {query}, which may see {sees} (case {self.case})"


@dataclass(frozen=True)
class DiagonalTilesUnmasked(VisiblePairLeak):
    """A leak inside the tiles of size `block` that the diagonal crosses."""

    name = "diagonal tiles taken whole"

    block: int

    def wording(self) -> Wording:
        """Which tiles lack the mask."""
        return Wording(
            "Keys from the future get weight, but only inside the tiles that the diagonal crosses: those "
            f"tiles of {self.block} are used unmasked; {self._first()}.",
            "Mask the scores of the tiles on the diagonal.",
        )


@dataclass(frozen=True)
class FutureHasWeight(VisiblePairLeak):
    """`pairs` hidden pairs of one head that have weight, wherever they are."""

    name = "future gets weight"

    pairs: int

    def wording(self) -> Wording:
        """How many pairs, and the first."""
        return Wording(
            f"Keys from the future get weight, in {self.pairs} hidden pair{'s' * (self.pairs != 1)} of one "
            f"head; {self._first()}.",
            "Compare the mask with j ≤ i + S_k − S_q, pair by pair, and see where it is applied.",
        )
