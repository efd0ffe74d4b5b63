"""`sliding_window`: a query sees the last keys up to its own, and nobody visits the other tiles."""

from __future__ import annotations

import functools

import torch
from torch import Tensor

from flashlearn.exercise import Case, Earlier, Exercise, HowExplained, HowTimed, Inputs, Kind, Mistake
from flashlearn.lessons.lesson_15_variants import passes
from flashlearn.lessons.lesson_15_variants import variant_cases as cases
from flashlearn.lessons.lesson_15_variants.variant_cases import variant_case
from flashlearn.lessons.shared.attention_cases import BF16, FP16
from flashlearn.lessons.shared.faulty_formulas.faults import NONE, Faults, Tile, faulty_formula, tiled
from flashlearn.lessons.shared.hidden_tiles import hidden_tiles
from flashlearn.running.answer import Answer

SHIFTS = {
    "one key short": (0, -1),
    "one key long": (0, 1),
    "own key hidden": (-1, 0),
    "one key ahead": (1, 0),
}
"""By how much the last key that a query sees, and the number of keys before it, are off."""
FORWARD_TILES, BACKWARD_TILES = "keys from the last query's window", "keys end with the first query"
QUERY_STARTS, QUERY_ENDS = "queries from the last key", "queries end with the first key"
OTHER_WAY, NO_SHIFT = "queries shifted the other way", "queries not shifted"
TILED = frozenset({FORWARD_TILES, BACKWARD_TILES, QUERY_STARTS, QUERY_ENDS, OTHER_WAY, NO_SHIFT})
NO_MASK = "no mask"
TILED |= {"keys rounded up", NO_MASK}


def windows(S_q: int, S_k: int, window: int, like: Tensor, faults: Faults) -> Tensor:
    """[S_q, S_k]: the mask, with its faults."""
    top_left = "top-left" in faults
    i = torch.arange(S_q, device=like.device)[:, None] + (0 if top_left else S_k - S_q)
    j = torch.arange(S_k, device=like.device)[None, :]
    if "both sides" in faults:
        return (i - j).abs() < window
    if "no window" in faults:
        return j <= i
    if "window alone" in faults:
        return j > i - window
    ahead, more = next((SHIFTS[fault] for fault in faults if fault in SHIFTS), (0, 0))
    return (j <= i + ahead) & (j > i - window - more)


def visited_keys(S_q: int, S_k: int, window: int, tile: Tile, like: Tensor, faults: Faults) -> Tensor:
    """[S_q, S_k]: the keys in the tiles that a query's block visits."""
    first = torch.arange(S_q, device=like.device) // tile[0] * tile[0]
    last = (first + tile[0]).clamp(max=S_q) - 1
    shift = S_k - S_q
    begin = (last if FORWARD_TILES in faults else first) + shift - window + 1
    end = (first if BACKWARD_TILES in faults else last) + shift + 1
    begin = begin.clamp(min=0)
    if "keys rounded up" in faults:
        begin = -(-begin // tile[1]) * tile[1]
    j = torch.arange(S_k, device=like.device)
    return (j >= (begin // tile[1] * tile[1])[:, None]) & (j < (-(-end // tile[1]) * tile[1])[:, None])


def visited_queries(S_q: int, S_k: int, window: int, tile: Tile, like: Tensor, faults: Faults) -> Tensor:
    """[S_q, S_k]: the queries in the tiles that a key's block visits."""
    first = torch.arange(S_k, device=like.device) // tile[1] * tile[1]
    last = (first + tile[1]).clamp(max=S_k) - 1
    shift = 0 if NO_SHIFT in faults else S_q - S_k if OTHER_WAY in faults else S_k - S_q
    begin = ((last if QUERY_STARTS in faults else first) - shift).clamp(min=0)
    end = (first if QUERY_ENDS in faults else last) - shift + window
    i = torch.arange(S_q, device=like.device)[:, None]
    return (i >= begin // tile[0] * tile[0]) & (i < -(-end // tile[0]) * tile[0])


@tiled(TILED)
def faulty_window(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, window: int, alpha: float, faults: Faults = NONE,
    tile: Tile = (32, 32),
) -> tuple[Tensor, ...]:  # fmt: skip
    """Both passes, with faults of the mask and of the lists of tiles."""
    sizes = q.shape[2], k.shape[2], window
    seen = windows(*sizes, q, faults)
    if NO_MASK in faults:
        seen = passes.whole_tiles(seen, tile)
    for_queries = seen & visited_keys(*sizes, tile, q, faults) if faults & TILED else seen
    for_keys = seen & visited_queries(*sizes, tile, q, faults) if faults & TILED else seen
    o, lse = passes.forward(q, k, v, alpha, seen=for_queries)
    dq = passes.gradients(q, k, v, o, do, lse, alpha, seen=for_queries)[0]
    return o, lse, dq, *passes.gradients(q, k, v, o, do, lse, alpha, seen=for_keys)[1:]


formula = faulty_formula(faulty_window)

MISTAKES = {
    "window one key short": Mistake(
        "Each query sees one key less than the window says: the oldest is hidden.",
        "With a window of 1, which keys does a query see?",
        **formula("one key short"),
    ),
    "window one key long": Mistake(
        "Each query sees one key more than the window says: one that is too old.",
        "With a window of 1, which keys does a query see?",
        **formula("one key long"),
    ),
    "the diagonal is hidden": Mistake(
        "The key at a query's own place is hidden, but it belongs to the window.",
        "Is j = i + S_k − S_q inside the window?",
        **formula("own key hidden"),
    ),
    "one key ahead": Mistake(
        "Each query sees one key beyond its own place.",
        "Is j = i + S_k − S_q + 1 inside the window?",
        **formula("one key ahead"),
    ),
    "window on both sides": Mistake(
        "Queries see keys after their own place, as many as before it. This window ends at the query.",
        "The newest key in the window of query i is i + S_k − S_q.",
        **formula("both sides"),
    ),
    "no causal side": Mistake(
        "Queries see all keys after their own place: the mask bounds the window at its old end only.",
        "The newest key in the window of query i is i + S_k − S_q.",
        **formula("window alone"),
    ),
    "no mask at all": Mistake(
        "Nothing is masked: a query sees every key of the tiles that its block visits.",
        "Tiles also hold keys that some of the block's queries must not see.",
        **formula(NO_MASK),
    ),
    "no window": Mistake(
        "The mask is causal and nothing more: old keys are still seen.",
        "Where does `window` come into the mask?",
        **formula("no window"),
    ),
    "top-left alignment": Mistake(
        "The window is aligned top-left: query i ends at key i. With S_q ≠ S_k query i is at the place of "
        "key i + S_k − S_q.",
        "Where does S_k − S_q come into the mask?",
        **formula("top-left"),
    ),
    "keys begin with the last query's window": Mistake(
        "Queries miss the oldest keys of their window where these lie in an earlier tile, as if the list of "
        "tiles began where the window of the block's last query does.",
        "Which query of the block sees the oldest key?",
        **formula(FORWARD_TILES, also=("keys rounded up",)),
    ),
    "keys end with the first query": Mistake(
        "Queries miss the newest keys of their window where these lie in a later tile, as if the list of "
        "tiles ended with what the block's first query sees.",
        "Which query of the block sees the newest key?",
        **formula(BACKWARD_TILES),
    ),
    "queries end with the first key": Mistake(
        "dK and dV lack the last queries that see their keys, as if the list of queries ended where the "
        "block's first key drops out of the window.",
        "The block's last key is seen by later queries than its first key.",
        **formula(QUERY_ENDS),
    ),
    "queries shifted the other way": Mistake(
        "dK and dV miss queries that see their keys: those visited are shifted the wrong way, as if key j "
        "were at the place of query j + (S_k − S_q).",
        "Query i is at the place of key i + S_k − S_q. At the place of which query is key j?",
        **formula(OTHER_WAY),
    ),
    "queries not shifted": Mistake(
        "dK and dV miss queries that see their keys: those visited are not shifted, as if key j were at the "
        "place of query j.",
        "Query i is at the place of key i + S_k − S_q. At the place of which query is key j?",
        **formula(NO_SHIFT),
    ),
    "queries begin with the last key": Mistake(
        "dK and dV lack the first queries that see their keys, as if the list of queries began with the one "
        "that sees the block's last key.",
        "The block's first key is seen by earlier queries than its last key.",
        **formula(QUERY_STARTS),
    ),
}


def inputs(case: Case, generator: torch.Generator) -> Inputs:
    """q, k, v, do, window, alpha."""
    drawn = cases.tensors(case, generator)
    return {**drawn, "window": case.sizes["window"], "alpha": cases.alpha_of(case)}


def in_window(
    q: Tensor, k: Tensor, v: Tensor, do: Tensor, window: int, alpha: float,
    spelling: passes.Spelling = passes.both,
) -> tuple[Tensor, ...]:  # fmt: skip
    """Both passes where query i sees the keys i + S_k − S_q − window < j ≤ i + S_k − S_q."""
    return spelling(q, k, v, do, alpha, seen=passes.visible(q.shape[2], k.shape[2], q, window))


def sdpa(q: Tensor, k: Tensor, v: Tensor, do: Tensor, window: int, alpha: float) -> tuple[Tensor, ...]:
    """The peer: SDPA with the mask as a matrix."""
    return cases.sdpa_passes(q, k, v, do, alpha, passes.visible(q.shape[2], k.shape[2], q, window))


FAR = variant_case(768, 768, 16, seed=60, window=32)
"""Here 47 of 576 tiles of 32 × 32 hold what is seen, and a causal kernel visits 300."""


MOST_OUTSIDE = 0.25
"""Of the hidden pairs: one tile too many for each block of 128 is 0.15 of them, and causal loops 0.29."""


def leaves_out_hidden_tiles(answer: Answer, earlier: Earlier) -> str:
    """A sentence if a kernel multiplies tiles outside the window, else nothing."""
    given = inputs(FAR, FAR.generator())
    seen = cases.earlier_keys(given).numpy()
    count = hidden_tiles(answer, given, seen, MOST_OUTSIDE)
    if not count:
        return ""
    return (
        f"The result is right, but at S 768 and a window of 32 your kernels multiply {count} tiles of "
        "queries and keys in which no query sees a key. Let the lists of tiles leave them out, in both "
        "passes."
    )


sliding_window = Exercise(
    name="sliding_window",
    lesson="15",
    kind=Kind.KERNEL,
    title="Attention to the last keys alone",
    signature="(q, k, v, do, window, alpha) -> (o, lse, dq, dk, dv)",
    outputs=cases.OUTPUTS,
    inputs=inputs,
    cases=(
        *cases.common(window=9),
        variant_case(70, 70, 16, seed=20, window=1),
        variant_case(40, 200, 16, seed=21, window=70),
        variant_case(200, 130, 16, seed=22, window=33),
        variant_case(130, 130, 16, seed=23, window=500, dtype=FP16),
        variant_case(129, 258, 16, seed=24, window=64, dtype=BF16),
        variant_case(100, 100, 16, seed=25, window=34),  # the range of queries ends with the first of a tile
        *cases.on_a_gpu(window=200),
    ),
    judged=cases.judged(
        in_window,
        tuple(functools.partial(in_window, spelling=spelling) for spelling in passes.SPELLINGS),
        cases.earlier_keys,
        real_sizes=cases.REAL_SIZES,
        review=leaves_out_hidden_tiles,
    ),
    explained=HowExplained(mistakes=MISTAKES),
    timed=HowTimed(peer=sdpa, peer_name="sdpa with a mask", case=cases.timed_case(window=256)),
    points=3,
    solution="flashlearn.kernels.variants:sliding_window",
)
