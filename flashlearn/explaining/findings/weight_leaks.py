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
        sees = "only key 0" if self.last == 0 else f"only keys 0 to {self.last}" if self.last else "no key"
        query, key = self.pair
        return f"for example, key {key} has weight for query {query}, which may see {sees} (case {self.case})"


@dataclass(frozen=True)
class DiagonalTilesUnmasked(VisiblePairLeak):
    """A leak inside the tiles that the diagonal crosses, of size `block` (queries, keys), if it is known.

    With `others_masked` there are such tiles that let nothing through.
    """

    name = "diagonal tiles taken whole"

    block: tuple[int, int] | None
    others_masked: bool

    def wording(self) -> Wording:
        """Which tiles lack the mask."""
        which = "some of those tiles" if self.others_masked else "those tiles"
        size = ""
        if self.block is not None:
            queries, keys = self.block
            size = f" of {queries}" if queries == keys else f" of {queries} queries and {keys} keys"
        return Wording(
            "Keys from the future get weight, but only inside the tiles that the diagonal crosses: "
            f"{which}{size} are used unmasked; {self._first()}.",
            OTHERS_MASKED if self.others_masked else DIAGONAL,
        )


@dataclass(frozen=True)
class FutureHasWeight(VisiblePairLeak):
    """`pairs` hidden pairs of one head that have weight, wherever they are, or `everywhere`.

    With `others_masked` they make up whole tiles, and other tiles on the diagonal let nothing through. Their
    weights are `like` those of the "bare" scores, of scores that are "zero", or of an exponent of "0"; every
    query sees `too_many` keys, where that is so.
    """

    name = "future gets weight"

    pairs: int
    everywhere: bool = False
    others_masked: bool = False
    like: str = ""
    too_many: int = 0

    def wording(self) -> Wording:
        """How many pairs, the first, and whose weights they have."""
        pairs = f"at least {self.pairs} hidden pair{'s' * (self.pairs != 1)} of query and key in one head"
        start = f"Keys from the future get weight: {pairs}; {self._first()}"
        if self.like in ("zero", "0"):
            what = "a score of 0" if self.like == "zero" else "an exponent of 0, which is 1"
            return Wording(
                f"{start}. These pairs have the weight of {what}: hidden is what adds 0, and exp(0) is 1.",
                "What takes the place of a hidden score? Only −∞ makes its exponential 0.",
            )
        if self.too_many:
            far = f"S_k − S_q + {self.too_many}" if self.too_many > 0 else f"S_k − S_q − {-self.too_many}"
            return Wording(
                f"{start}. The pairs that have weight are those with j ≤ i + {far}.",
                "A query i may see the keys j ≤ i + S_k − S_q: which line says so, and is each of the three "
                "numbers what its name says?",
            )
        if self.others_masked:
            return Wording(f"{start}.", OTHERS_MASKED)
        if self.everywhere:
            bare = " They have the weights that they would have without a mask." * (self.like == "bare")
            return Wording(
                f"{start}.{bare}",
                "Which line hides these pairs, for all j > i + S_k − S_q, before P is used, and does it run "
                "for every tile on the diagonal?",
            )
        return Wording(
            f"{start}.",
            "Compare the mask with j ≤ i + S_k − S_q, pair by pair, and see where it is applied.",
        )


@dataclass(frozen=True)
class PTransposed(FindingKind):
    """Each tile of P is transposed: the weight of `pair`, (query, key), is that of the `other` pair."""

    name = "tiles of P transposed"
    called = ("P not transposed",)

    case: str
    pair: Pair
    other: Pair

    def wording(self) -> Wording:
        """Which pairs have each other's weights."""
        (query, key), (other_query, other_key) = self.pair, self.other
        return Wording(
            f"Each tile of P is used in the other orientation: query {query} gives key {key} the weight that "
            f"query {other_query} should give key {other_key} (case {self.case}), and so on throughout.",
            "Which axis of the tile of P counts the queries, which the keys, and over which of them does the "
            "product sum?",
        )


DIAGONAL = "Which line should hide these pairs: does it run for these tiles, and is its result used?"
OTHERS_MASKED = (
    "Other tiles on the diagonal are masked. In these, too, key j must be hidden from query i where "
    "j > i + S_k − S_q."
)
