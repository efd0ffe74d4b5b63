"""What an attention kernel's weights P show: pairs that leak, pairs that are missing, factors."""

from __future__ import annotations

from flashlearn.explaining.wording.kinds import Wording, kind

Pair = tuple[int, int]


@kind("weights of queries that see nothing")
def of_blind_queries(case: str, count: int, total: int, first: int, keys: Pair) -> Wording:
    """Rows in which every key is hidden, and gets weight."""
    return Wording(
        f"Queries that may see no key get weights all the same: {count} of {total} queries in case {case}, "
        f"the first is {first}, with weight on keys {keys[0]} to {keys[1]}. The others are right.",
        "What are the scores of a row in which every key is hidden? A large negative number in place of −∞ "
        "is its maximum like any other, and exp(0) is 1.",
    )


@kind("diagonal tiles taken whole")
def diagonal_tiles_taken_whole(case: str, pair: Pair, last: int | None, block: int) -> Wording:
    """A leak inside the tiles that the diagonal crosses."""
    return Wording(
        "Keys from the future get weight, but only inside the tiles that the diagonal crosses: those tiles "
        f"of {block} are taken whole. {_first_pair(case, pair, last)}",
        "Mask the scores of the tiles on the diagonal.",
    )


@kind("future gets weight")
def future_gets_weight(case: str, pair: Pair, last: int | None, pairs: int) -> Wording:
    """Hidden pairs that have weight, wherever they are."""
    return Wording(
        f"Keys from the future get weight: {pairs} hidden pairs do. {_first_pair(case, pair, last)}",
        "Compare the mask with j ≤ i + S_k − S_q, pair by pair, and see where it is applied.",
    )


def _first_pair(case: str, pair: Pair, last: int | None) -> str:
    sees = f"it may see keys 0 to {last}" if last is not None else "it may see no key"
    return f"The first pair is ({pair[0]}, {pair[1]}) in case {case}: {sees}."


@kind("last keys get no weight")
def last_keys(first: int, case: str, loop: bool, counted: bool = False) -> Wording:
    """The last tile of keys is left out; a `loop` goes over keys, or each has its program.

    Where they are `counted` in a right LSE, it is read, and lost on its way into O.
    """
    if counted:
        return Wording(
            f"The keys from {first} on are counted in LSE, which is right, but have no weight in O (case "
            f"{case}).",
            "What becomes of P V of the last tile, between the product and the store?",
        )
    return Wording(
        f"No query gives weight to the keys from {first} on (case {case}): the last tile is left out.",
        "Where does the loop over keys end?" if loop else "How many programs are there along the keys?",
    )


@kind("first keys get no weight")
def first_keys(last: int, case: str, loop: bool, counted: bool = False) -> Wording:
    """The first tile of keys is left out, or lost on its way into O where a right LSE has `counted` it."""
    if counted:
        return Wording(
            f"The keys 0 to {last} are counted in LSE, which is right, but have no weight in O (case "
            f"{case}).",
            "In the first tile the factor for the old maximum is exp(−∞ − m) = 0. What is multiplied by it?",
        )
    return Wording(
        f"No query gives weight to the keys 0 to {last} (case {case}): the first tile is left out.",
        "Where does the loop over keys begin?" if loop else "Which keys does program 0 have?",
    )


@kind("last queries give no weight")
def last_queries(first: int, case: str, loop: bool) -> Wording:
    """The last tile of queries is left out."""
    return Wording(
        f"The queries from {first} on give no weight to any key (case {case}): their tile is left out.",
        "Where does the loop over queries end?" if loop else "How many programs are there along the queries?",
    )


@kind("first queries give no weight")
def first_queries(last: int, case: str, loop: bool) -> Wording:
    """The first tile of queries is left out."""
    return Wording(
        f"The queries 0 to {last} give no weight to any key (case {case}): their tile is left out.",
        "Where does the loop over queries begin?" if loop else "Which queries does program 0 have?",
    )


@kind("diagonal tiles")
def diagonal_tiles(pair: Pair, case: str) -> Wording:
    """In every row the last keys that may be seen get no weight."""
    return Wording(
        f"Queries give no weight to the last keys that they may see, from pair ({pair[0]}, {pair[1]}) on "
        f"(case {case}): what is missing lies along the diagonal.",
        "Where does the loop end, and does the mask say < or ≤?",
    )


@kind("rows of P off by a factor")
def rows_of_p(case: str, factors: tuple[float, float], recomputed: bool) -> Wording:
    """Right within each row, up to a factor; `recomputed` where P comes from a given LSE."""
    sentence = (
        f"Each row of P is the right one times a factor of its own, {factors[0]:.3g} to {factors[1]:.3g} "
        f"(case {case}): the weights of a row do not sum to 1. "
    )
    if recomputed:
        return Wording(
            f"{sentence}They are exp(S − LSE) with another LSE, or some queries count more than once.",
            "Is LSE in the units of S, and read at the row's own number? Does each tile count once?",
        )
    return Wording(
        f"{sentence}What they are divided by is wrong.", "Which keys are counted in l, and which in acc?"
    )


@kind("tiles counted twice")
def tiles_counted_twice(block: int, case: str) -> Wording:
    """Tiles that are added more than once."""
    return Wording(
        f"Some tiles of {block} keys count a whole number of times as much as others (case {case}): they are "
        "added more than once.",
        "Do two loops, or two steps, meet the same tile?",
    )


@kind("not rescaled")
def not_rescaled(block: int, case: str) -> Wording:
    """What was summed before was not brought to the new maximum."""
    return Wording(
        f"Within a tile of {block} keys the weights of a row are right, but the tiles do not fit together "
        f"(case {case}): a tile that came before a new maximum counts by another factor.",
        "When m moves, everything summed so far, l and acc alike, is multiplied by exp(m_old − m_new).",
    )


@kind("scores times a number")
def scores_times_a_number(case: str, factor: float, meaning: str) -> Wording:
    """P of scores that are off by one factor, a known one or a number."""
    return Wording(
        f"P is a softmax of the right scores times {meaning or f'{factor:.4g}'}: the exponent is off by that "
        f"factor in every pair (case {case}).",
        "Which factors stand between q · k and the exponential?",
    )


@kind("P to a power")
def p_to_a_power(case: str, factor: float, meaning: str, recomputed: bool) -> Wording:
    """Every weight is the right one to this power."""
    power = meaning or f"{factor:.4g}"
    return Wording(
        f"The weights are not P but P to the power {power}, pair by pair, and rows do not sum to 1 (case "
        f"{case}).",
        "Is P multiplied with itself, or the whole exponent by a number, "
        f"{'LSE' if recomputed else 'the maximum'} and all?",
    )


@kind("exponent times a number")
def exponent_times_a_number(case: str, factor: float, meaning: str) -> Wording:
    """Within a row as for scores times a number, and rows do not sum to 1."""
    power = meaning or f"{factor:.4g}"
    return Wording(
        f"Within each row the weights go like exp(S) to the power {power} instead of exp(S), and they do not "
        f"sum to 1 (case {case}).",
        "Which factor does S have in the exponent, and do the weights have the same in the sum that they are "
        "divided by?",
    )
