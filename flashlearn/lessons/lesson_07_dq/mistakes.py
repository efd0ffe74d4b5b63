"""The named mistakes of lesson 07: what people get wrong about dQ, and what to say to them.

In torch, tile by tile, where `dq_scan` can say it; where it cannot, the mistake is one of faulty_kernels.
"""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_07_dq.faulty_kernels import faulty_dq
from flashlearn.lessons.shared.faulty_formulas.faults import ways
from flashlearn.lessons.shared.faulty_formulas.gradients import dq_scan
from flashlearn.lessons.shared.named_mistakes.causal_gradients import causal_only
from flashlearn.lessons.shared.named_mistakes.dq import dq
from flashlearn.lessons.shared.named_mistakes.gradients import strides_of_q

formula = ways(dq_scan, causal=False)
causal_formula = ways(dq_scan, causal=True)


def kernels(causal: bool) -> dict[str, Mistake]:
    """The mistakes that only a kernel can make."""
    return {
        **strides_of_q(faulty_dq("strides of q", causal)),
        "load of K without a mask": Mistake(
            "The last tile of keys reaches beyond S_k, and for D below BLOCK_D its columns beyond D.",
            "mask=in_keys[:, None] & in_d[None, :], other=0.0 for K as for V.",
            launcher=faulty_dq("no mask", causal),
            status="OUT_OF_BOUNDS",
        ),
    }


DQ = {**dq(formula), **kernels(causal=False)}
PADDING = ("loop over S_q", "the last, incomplete block of keys is left out", "padded keys get a probability")
CAUSAL = {  # a causal mask hides padded keys, and its loop ends elsewhere
    **{name: mistake for name, mistake in dq(causal_formula).items() if name not in PADDING},
    **causal_only(causal_formula, keys=False),
    "loop ends one block early": Mistake(
        "The loop ends before the tile that the diagonal crosses: every query misses its nearest keys.",
        "The last query of block i is (i + 1) · BLOCK_Q − 1, and it sees keys up to that plus S_k − S_q.",
        **causal_formula("ends one block early"),
    ),
    "loop end without S_k − S_q": Mistake(
        "The loop ends at the program's own block of queries, as if the diagonal began in the top-left "
        "corner. With more keys than queries, visible tiles are left out.",
        "Shift the end by S_k − S_q, as in the mask.",
        **causal_formula("ends at the top-left diagonal"),
    ),
    **kernels(causal=True),
}
