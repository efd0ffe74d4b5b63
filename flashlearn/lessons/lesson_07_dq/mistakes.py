"""The named mistakes of lesson 07: what people get wrong about dQ, and what to say to them.

In torch, tile by tile, where `dq_scan` can say it; where it cannot, the mistake is one of faulty_kernels.
"""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_07_dq.faulty_kernels import faulty_dq
from flashlearn.lessons.lesson_07_dq.without_delta import in_one_scan
from flashlearn.lessons.shared.faulty_formulas.faults import faulty_formula, with_faults
from flashlearn.lessons.shared.faulty_formulas.gradients import dq_scan
from flashlearn.lessons.shared.named_mistakes.causal_gradients import causal_only
from flashlearn.lessons.shared.named_mistakes.dq import dq
from flashlearn.lessons.shared.named_mistakes.gradients import strides_of_q
from flashlearn.outcome import Status

formula = faulty_formula(dq_scan, causal=False)
causal_formula = faulty_formula(dq_scan, causal=True)


def kernels(causal: bool) -> dict[str, Mistake]:
    """The mistakes that only a kernel can make."""
    return {
        **strides_of_q(faulty_dq("strides of q", causal)),
        "load of K without a mask": Mistake(
            "The last tile of keys reaches beyond S_k, and for D below BLOCK_D its columns beyond D.",
            "mask=in_keys[:, None] & in_d[None, :], other=0.0 for K as for V.",
            launcher=faulty_dq("no mask", causal),
            status=Status.OUT_OF_BOUNDS,
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

# ---------------------------------------------------------------- dQ without delta

SCANNED_AGAIN = (
    "The numbers are right, but your kernels request {requested} bytes where one scan needs {least}: with "
    "a single block of queries something is read more than once. Delta can be had in the scan that needs it: "
    "take it out of the sum over the keys."
)
"""What is right and not what was asked: `exercises.one_scan` finds it."""

WITHOUT_DELTA = {
    "delta left out": Mistake(
        "dq is alpha Σ P dP K: what delta takes away is missing.",
        "Multiply P ∘ (dP − delta) K out. There is a second part, and both can be summed in the same loop.",
        **with_faults(in_one_scan, "no delta"),
    ),
    "delta so far": Mistake(
        "Each tile's dS was made with the delta of the tiles seen so far. It is complete only after the last "
        "one; with a single tile of keys the result is right.",
        "delta is one number per query, so it can stand outside the sum over the keys. What remains inside?",
        **with_faults(in_one_scan, "delta so far"),
    ),
    "delta of the tile alone": Mistake(
        "Each tile's dS was made with a delta of its own. There is one delta per query, over all keys.",
        "Sum P dP over all tiles, and subtract once, after the loop.",
        **with_faults(in_one_scan, "delta of the tile"),
    ),
    "delta not multiplied in": Mistake(
        "Σ P K was subtracted as it is. It has to be multiplied by delta first.",
        "Σ_j P_ij (dP_ij − delta_i) K_j: which factor stands before the second sum?",
        **with_faults(in_one_scan, "delta is 1"),
    ),
    "keys summed without P": Mistake(
        "delta was multiplied by the plain sum of the keys. Each key counts with the weight that the query "
        "gave to it.",
        "The second sum is Σ_j P_ij K_j, a product of p with the tile of keys.",
        **with_faults(in_one_scan, "keys not weighted"),
    ),
    "only the last tile": Mistake(
        "dq holds the last tile of keys alone: each tile replaces what was summed before it.",
        "Add: the three sums start from zero before the loop, and grow in it.",
        **with_faults(in_one_scan, "last tile only"),
    ),
    "the last, incomplete block of keys is left out": Mistake(
        "The loop covers only whole blocks of keys. The rest of each row is missing.",
        "range(0, S_k, BLOCK_K) takes the last block too; the mask handles the rest.",
        **with_faults(in_one_scan, "whole blocks only"),
    ),
    "alpha is missing from dQ": Mistake(
        "dQ lacks the factor alpha: S = alpha Q Kᵀ, so the derivative by Q carries alpha once more.",
        "Multiply the difference by alpha, once, before the store.",
        **with_faults(in_one_scan, "no alpha"),
    ),
    "alpha applied twice": Mistake(
        "dQ carries alpha twice.",
        "alpha belongs into s (to rebuild P) and once into dq.",
        **with_faults(in_one_scan, "alpha twice"),
    ),
    "sums in half precision": Mistake(
        "The sums over the keys are rounded to half precision after every tile; the errors add up.",
        "Start all three in tl.float32, and convert once, at the store.",
        **with_faults(in_one_scan, "sums in half"),
    ),
}
