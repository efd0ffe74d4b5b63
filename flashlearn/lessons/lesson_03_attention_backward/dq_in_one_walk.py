"""`dq_in_one_walk`: dQ without delta in advance, in torch."""

from __future__ import annotations

import torch

from flashlearn.exercise import Case, Earlier, Exercise, HowExplained, HowJudged, Kind, Mistake
from flashlearn.lessons.lesson_03_attention_backward import one_walk
from flashlearn.lessons.lesson_03_attention_backward.one_head import EXAMPLE_SIZES, shape_in_words
from flashlearn.lessons.shared.cases import build_case
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.own_formulas import unforeseen
from flashlearn.running.answer import Answer
from flashlearn.running.run_modes import Observed

formula = faulty_formula(one_walk.dq)

MISTAKES = {
    "delta forgotten": Mistake(
        "You returned alpha Σ P dP K: the part with delta is missing.",
        "dS = P ∘ (dP − delta). Multiply it out, and sum both parts in the same walk.",
        **formula("no delta"),
    ),
    "delta so far": Mistake(
        "Each tile's dS has the delta of the tiles seen so far. delta is complete only after the last one.",
        "Take delta out of the sum over the keys: what remains can be summed without knowing it.",
        **formula("delta so far"),
    ),
    "delta of the tile alone": Mistake(
        "Each tile's dS has a delta of its own. There is one delta per query, over all keys.",
        "Sum P dP over all tiles, and subtract once, after the last one.",
        **formula("delta of the tile"),
    ),
    "delta not multiplied in": Mistake(
        "You subtracted Σ P K as it is. It has to be multiplied by delta first.",
        "The second part of dQ_i is alpha delta_i Σ_j P_ij K_j.",
        **formula("delta is 1"),
    ),
    "a softmax of each tile": Mistake(
        "P is a softmax of each tile by itself: the weights of a query sum to 1 in every tile, and not over "
        "all keys.",
        "lse knows the whole row: P = exp(S − LSE), tile by tile.",
        **formula("softmax of the tile"),
    ),
    "only the last tile": Mistake(
        "dQ holds the last tile alone, as if each tile replaced what was summed.",
        "Where do the shares of the earlier tiles get lost?",
        **formula("last tile only"),
    ),
    "the sum of P K overwritten": Mistake(
        "Σ P K holds the last tile alone, as if each tile's P K replaced the sum of the tiles before.",
        "Σ_j P_ij K_j goes over the keys of all tiles.",
        **formula("keys overwritten"),
    ),
    "the sum of P dP K overwritten": Mistake(
        "Σ P dP K holds the last tile alone, as if each tile's P dP K replaced the sum of the tiles before.",
        "Σ_j P_ij dP_ij K_j goes over the keys of all tiles.",
        **formula("worth of keys overwritten"),
    ),
    "delta overwritten": Mistake(
        "delta is that of the last tile, as if each tile's row sum of P dP replaced the sum of the tiles "
        "before.",
        "delta_i is one sum over all keys, Σ_j P_ij dP_ij.",
        **formula("delta overwritten"),
    ),
    "tiles kept": Mistake(
        "dq is NaN wherever there is more than one tile, as it is if tiles are kept and computed with "
        "later: a tile is gone when the next one comes.",
        "What you need of a tile has to be added up while it is there.",
        **formula("tiles kept"),
    ),
    "alpha forgotten": Mistake(
        "dQ lacks the factor alpha.",
        "S contains alpha once, and so does the derivative of S by Q.",
        **formula("no alpha"),
    ),
    "scores without alpha": Mistake(
        "P is computed from Q Kᵀ without alpha, but lse belongs to alpha Q Kᵀ.",
        "P = exp(alpha Q Kᵀ − LSE).",
        **formula("scores without alpha"),
    ),
}


def walk(S_q: int, S_k: int, D: int, block: int, data: str = "normal", **more: object) -> Case:
    """One head, with keys and values in tiles of `block` rows."""
    label = f"{shape_in_words(S_q, S_k, D)}, tiles of {block}"
    sizes = {"S_q": S_q, "S_k": S_k, "D": D, "block": block}
    note = "" if data == "normal" else data
    return build_case(label, sizes, note=note, tags={"large": False}, data=data, **more)


def keeps_no_tiles(answer: Answer, earlier: Earlier) -> str:
    """A sentence if the answer fails, or is wrong, in a walk so long that kept tiles are noticed."""
    case = walk(4, 65_536, 64, 1024)
    inputs = one_walk.inputs(case, unforeseen())
    evidence = answer.run(inputs, Observed())
    if evidence.raised is not None:
        return f"In a long walk ({case.name}) it fails. {evidence.raised.sentence}"
    wide = {name: one.double() if isinstance(one, torch.Tensor) else one for name, one in inputs.items()}
    right, (found,) = one_walk.dq(**wide), evidence.values
    if (found.double() - right).abs().max() <= 1e-3 * right.abs().max():
        return ""
    return f"In a long walk ({case.name}) dq is wrong."


dq_in_one_walk = Exercise(
    name="dq_in_one_walk",
    lesson="03",
    kind=Kind.TORCH,
    title="dQ in one pass, without delta in advance",
    signature="(q, do, lse, tiles, alpha) -> dq",
    outputs=("dq",),
    inputs=one_walk.inputs,
    cases=(
        walk(7, 6, 4, 2, seed=1),
        Case("the running example, tiles of 1", {**EXAMPLE_SIZES, "block": 1}, data="example"),
        walk(5, 9, 3, 4, dtype=torch.float64, seed=2),
        walk(1, 4, 2, 3, seed=4),
        walk(4, 2, 2, 3, seed=5),  # a single key would leave nothing of dQ but roundings
        walk(37, 20, 24, 8, seed=6),
        walk(8, 5, 4, 2, data="negative alpha", seed=7),
        walk(6, 7, 4, 3, data="scores beyond 100", magnitude=12.0, seed=8),
    ),
    judged=HowJudged(
        reference=one_walk.dq,
        twins=(one_walk.dq_with_delta_first, one_walk.dq_from_shifted_keys),
        gradient=True,
        call=one_walk.call,
        review=keeps_no_tiles,
    ),
    explained=HowExplained(
        mistakes=MISTAKES,
    ),
    points=2,
)
