"""The named mistakes of lesson 08: what people get wrong about dK and dV, and what to say to them.

In torch, tile by tile, where `dkv_scan` can say it; where it cannot, the mistake is one of faulty_kernels.
"""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_08_dk_dv.faulty_kernels import faulty_dkv
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula
from flashlearn.lessons.shared.faulty_formulas.gradients import dkv_scan
from flashlearn.lessons.shared.named_mistakes.causal_gradients import causal_only
from flashlearn.lessons.shared.named_mistakes.dkv import dkv
from flashlearn.lessons.shared.named_mistakes.gradients import strides_of_q
from flashlearn.outcome import Status

formula = faulty_formula(dkv_scan, causal=False)
causal_formula = faulty_formula(dkv_scan, causal=True)


def kernels(causal: bool) -> dict[str, Mistake]:
    """The mistakes that only a kernel can make."""
    return {
        **strides_of_q(faulty_dkv("strides of q", causal)),
        "load of dO without a mask": Mistake(
            "The last tile of queries reaches beyond S_q, and for D below BLOCK_D its columns beyond D.",
            "mask=in_queries[:, None] & in_d[None, :], other=0.0 for dO as for Q.",
            launcher=faulty_dkv("no mask", causal),
            status=Status.OUT_OF_BOUNDS,
        ),
    }


DKV = {**dkv(formula), **kernels(causal=False)}
CAUSAL = {
    **dkv(causal_formula),
    **causal_only(causal_formula, keys=True),
    "loop starts one block late": Mistake(
        "The loop begins after the tile that the diagonal crosses: every key misses its nearest queries.",
        "The first query that sees key j is i = j − (S_k − S_q); begin with the block that holds it.",
        **causal_formula("starts one block late"),
    ),
    "the first block that sees the keys is left out": Mistake(
        "The first block of queries that sees the program's keys is left out, unless its first query sees "
        "them already: the loop's bound is rounded up, or the block's first query alone is asked.",
        "A block counts as soon as its last query sees the first key; the mask hides what is too much.",
        **causal_formula("start rounded up"),
    ),
    "loop start without S_k − S_q": Mistake(
        "The loop begins at the program's own block of keys, as if the diagonal began in the top-left "
        "corner. With more keys than queries, visible tiles are left out.",
        "Shift the start by S_k − S_q, as in the mask, and no further than to 0.",
        **causal_formula("starts at the top-left diagonal"),
    ),
    **kernels(causal=True),
}
