"""The named mistakes of lesson 07: what people get wrong about dQ, and what to say to them.

In torch, tile by tile, where faulty_gradients can say it; where it cannot, the mistake is a kernel of
broken_07.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flashlearn.exercise import Mistake
from flashlearn.exercises.broken_07 import faulty_dq
from flashlearn.exercises.faulty_gradients import dq_scan


def _made(causal: bool, *faults: str, also: tuple[tuple[str, ...], ...] = ()) -> dict[str, Any]:
    """A mistake's formula; `also` are sets of faults that make the same mistake in another way."""

    def formula(*names: str) -> Callable[..., Any]:
        return functools.partial(dq_scan, causal=causal, faults=frozenset(names))

    return {"wrong": formula(*faults), "also": tuple(formula(*names) for names in also)}


def common(causal: bool) -> dict[str, Mistake]:
    """The mistakes that can be made with and without a causal mask."""
    return {
        "alpha is missing from dQ": Mistake(
            "dQ lacks the factor alpha: S = alpha Q Kᵀ, so the derivative by Q carries alpha once more.",
            "Multiply the finished dq by alpha, once, before the store.",
            **_made(causal, "alpha not on dQ"),
        ),
        "alpha applied twice": Mistake(
            "dQ carries alpha twice: once in dS and once at the end, perhaps.",
            "alpha belongs into s (to rebuild P) and once into dq; dS has none.",
            **_made(causal, "alpha twice on dQ"),
        ),
        "alpha is missing from S": Mistake(
            "P is not the forward pass's: the scores were rebuilt as Q Kᵀ, without alpha.",
            "s must be what the forward pass had, alpha · q · k, or exp(s − lse) is no probability.",
            **_made(causal, "alpha not in s"),
        ),
        "alpha in every step": Mistake(
            "dq is multiplied by alpha in every step of the loop: the first tile's share carries alpha as "
            "often as there are tiles. With a single tile of keys it is right.",
            "dq *= alpha belongs after the loop, once.",
            **_made(causal, "alpha in every step"),
        ),
        "only the last tile remains": Mistake(
            "dq holds the last tile's share alone: each step overwrites what the steps before it found.",
            "Add: dq += tl.dot(…), starting from zeros.",
            **_made(causal, "last tile alone"),
        ),
        "delta omitted": Mistake(
            "delta is missing: you used dS = P ∘ dP, the diagonal part of softmax's Jacobian alone.",
            "Subtract delta_i from every dP of row i before you multiply by P.",
            **_made(causal, "delta omitted"),
        ),
        "delta subtracted after P": Mistake(
            "You used dS = P ∘ dP − delta: P multiplies dP alone, and delta is subtracted at full weight "
            "from every key.",
            "P multiplies the difference: ds = p * (dp - delta_i[:, None]). Mind the parentheses.",
            **_made(causal, "delta after P"),
        ),
        "delta along the keys": Mistake(
            "delta_i lies along the wrong axis: number j of the block was subtracted from column j. The "
            "shapes fit because the tile is square.",
            "delta belongs to the queries, the rows of the tile: delta_i[:, None].",
            **_made(causal, "delta along the keys"),
        ),
        "LSE along the keys": Mistake(
            "lse_i lies along the wrong axis: number j of the block was subtracted from column j. The shapes "
            "fit because the tile is square.",
            "LSE belongs to the queries, the rows of the tile: lse_i[:, None].",
            **_made(causal, "LSE along the keys"),
        ),
        "delta added": Mistake(
            "delta was added where it must be subtracted: dS = P ∘ (dP + delta).",
            "Each row of dS must sum to 0. Print the sums of one tile row.",
            **_made(causal, "delta added"),
        ),
        "delta from dP without P": Mistake(
            "You subtracted the plain sum of each row of dP. delta is the sum of P ∘ dP, the mean of dP "
            "under P.",
            "The launcher has delta already: Σ_d dO ∘ O, one number per query, loaded once before the loop.",
            **_made(causal, "delta is the sum of dP"),
        ),
        "delta of one tile": Mistake(
            "delta was summed over the keys of one tile: Σ_j P_ij dP_ij needs the whole row, so the result "
            "is right only where all keys fit into one tile.",
            "Take delta from O and dO, before the loop: the sum over D is complete at once.",
            **_made(causal, "delta of one tile"),
        ),
        "delta not divided by l": Mistake(
            "delta was summed from exponentials that nobody divided by l: it is l times too large.",
            "Σ_j P_ij dP_ij wants P, not exp(S − m): divide by l, or take delta from O and dO.",
            **_made(causal, "delta times l"),
        ),
        "P in front forgotten": Mistake(
            "You used dS = dP − delta, without the factor P.",
            "dS_ij = P_ij (dP_ij − delta_i): a key that gets no weight gets no gradient.",
            **_made(causal, "P forgotten in dS"),
        ),
        "LSE read as base 2": Mistake(
            "P is too large by a power of LSE: you computed 2^(S log2 e − LSE), and this LSE is a natural "
            "logarithm.",
            "Use tl.exp(s - lse), or multiply lse by log2(e) as well before tl.exp2.",
            **_made(causal, "LSE in base 2"),
        ),
        "dP from K": Mistake(
            "dP was computed as dO Kᵀ. O = P V, so dO meets V: dP = dO Vᵀ.",
            "Compare the operands of your second tl.dot with O = P V.",
            **_made(causal, "dP from K"),
        ),
        "dQ from V": Mistake(
            "The last product is dS V. S = alpha Q Kᵀ, so the derivative by Q brings K: dQ = alpha dS K.",
            "Compare the operands of your last tl.dot with S = alpha Q Kᵀ.",
            **_made(causal, "dS meets V"),
        ),
        "dS transposed": Mistake(
            "Each tile of dS was transposed before it met K. The shapes fit because the tile is square; the "
            "sum runs over the wrong index.",
            "Rows of dS are queries and columns keys: dQ sums over keys, dS K, with nothing transposed.",
            **_made(causal, "dS transposed"),
        ),
        "the last, incomplete block of keys is left out": Mistake(
            "The loop covers only whole blocks of keys: S_k // BLOCK_K of them. The rest of each row is "
            "missing.",
            "range(0, S_k, BLOCK_K) takes the last block too; the mask handles the rest.",
            **_made(causal, "whole blocks only"),
        ),
        "padded keys get a probability": Mistake(
            "A padded key has k = 0, so s = 0 and P = exp(0 − LSE), which is infinite where LSE is below "
            "−88. ∞ · 0 is NaN, and it ends up in dQ.",
            'Set s to −inf where the key does not exist: tl.where(in_keys[None, :], s, -float("inf")).',
            **_made(causal, "padded keys"),
        ),
        "strides of Q used for K": Mistake(
            "K is addressed with the strides of Q, which differ as soon as S_q ≠ S_k or the layouts do.",
            "Use k_batch, k_head, k_row and k_col for everything that starts at k_ptr.",
            launcher=faulty_dq("strides of q", causal),
            status="OUT_OF_BOUNDS",
        ),
        "load of K without a mask": Mistake(
            "The last tile of keys reaches beyond S_k, and for D below BLOCK_D its columns beyond D.",
            "mask=in_keys[:, None] & in_d[None, :], other=0.0 for K as for V.",
            launcher=faulty_dq("no mask", causal),
            status="OUT_OF_BOUNDS",
        ),
        "dP rounded before delta is subtracted": Mistake(
            "dP was rounded to half precision before delta was subtracted. Where both are large their "
            "difference keeps few digits.",
            "tl.dot answers in fp32: keep dp and delta there, and cast ds only for the product with K.",
            **_made(causal, "dP in half"),
        ),
        "dQ accumulated in half precision": Mistake(
            "dq is rounded to half precision after every tile; the errors add up over the row.",
            "dq = tl.zeros(…, tl.float32); convert once, at the store.",
            **_made(causal, "accumulator in half"),
        ),
        "LSE forgotten": Mistake(
            "P was computed as exp(s): LSE is not subtracted, so no row of P sums to 1.",
            "exp(s - lse_i[:, None]): the forward pass saved LSE for this.",
            **_made(causal, "LSE forgotten"),
        ),
        "log2 e is missing": Mistake(
            "P was computed as 2^(s − LSE), with natural numbers in the exponent: every exponent is too "
            "small by the factor ln 2.",
            "e^x is 2^(x log2 e): multiply s and lse by 1.4427 before tl.exp2, or use tl.exp.",
            **_made(causal, "exp2 of natural numbers"),
        ),
        "alpha twice in S": Mistake(
            "The scores carry alpha twice: q was multiplied by it already, perhaps, and the product again.",
            "s must be what the forward pass had: alpha · q · k.",
            **_made(causal, "alpha twice in s"),
        ),
        "dP from O": Mistake(
            "dP was computed as O Vᵀ. dP is the loss's derivative by P, so it starts from dO: dP = dO Vᵀ.",
            "O is needed for delta only.",
            **_made(causal, "dP from O"),
        ),
        "dP from Q": Mistake(
            "dP was computed as Q Vᵀ. O = P V, so it is dO that meets V: dP = dO Vᵀ.",
            "Compare the operands of your second tl.dot with O = P V.",
            **_made(causal, "dP from Q"),
        ),
        "loop over S_q": Mistake(
            "The loop over keys ends at S_q, the number of queries: where there are more keys than queries, "
            "some are missing.",
            "This program scans keys: range(0, S_k, BLOCK_K).",
            **_made(causal, "ends at S_q"),
        ),
        "first tile missing": Mistake(
            "The loop over keys begins one tile late: the first BLOCK_K keys are never met.",
            "The loop starts at 0.",
            **_made(causal, "first tile skipped"),
        ),
        "log2 e is missing from S": Mistake(
            "P was computed as 2^(S − LSE log2 e): LSE was brought to base 2, the scores were not.",
            "Multiply the scores by 1.4427 as well, or use tl.exp of natural numbers.",
            **_made(causal, "log2 e not in s"),
        ),
        "delta from O alone": Mistake(
            "delta was computed from O alone: dO does not enter. It is the sum over d of dO_id O_id.",
            "Multiply o by do, element by element, and sum each row.",
            **_made(causal, "delta from O alone", also=(("delta is the sum of O",),)),
        ),
        "delta from dO alone": Mistake(
            "delta was computed as the sum of dO², without O. It is the sum over d of dO_id O_id.",
            "Multiply o by do, element by element, and sum each row.",
            **_made(causal, "delta from dO alone"),
        ),
        "delta of other rows": Mistake(
            "delta is that of the first BLOCK_Q queries in every program, or every step: only there it "
            "belongs.",
            "delta_ptr + rows, with the rows of this tile.",
            **_made(causal, "delta of the first rows"),
        ),
        "delta of the first head": Mistake(
            "Every head takes delta of the first one: the offset of batch and head is missing from its "
            "address.",
            "delta is [B, H, S_q]: its pointer moves by S_q from head to head.",
            **_made(causal, "delta of the first head"),
        ),
        "dS cast to fp16": Mistake(
            "dS goes through fp16 whatever the inputs are: in fp32 and bf16 it loses digits, or range.",
            "Cast to the dtype of the operand that it meets, ds.to(q.dtype), and to nothing else.",
            **_made(causal, "dS in fp16"),
        ),
        "V's pointer is not advanced": Mistake(
            "Every step takes dP from the first tile of V, while K moves on.",
            "The addresses of V contain the step: start + keys, as those of K do.",
            **_made(causal, "V stays"),
        ),
        "K's pointer is not advanced": Mistake(
            "Every step takes the first tile of K, while V moves on.",
            "The addresses of K contain the step: start + keys, as those of V do.",
            **_made(causal, "K stays"),
        ),
    }


CAUSAL_ONLY = {
    "S_k − S_q with the wrong sign": Mistake(
        "The diagonal is shifted the wrong way: the mask is j ≤ i + S_q − S_k. It is right only for S_q = "
        "S_k.",
        "The last query sees the last key: for i = S_q − 1 the mask must let j = S_k − 1 through.",
        **_made(
            True,
            "offset turned round",
            also=(
                ("offset turned round", "no guard"),
                ("offset turned round", "guarded by 0"),
            ),
        ),
    ),
    "hidden scores set to 0": Mistake(
        "Hidden scores are set to 0 and take part like any other: exp(0 − LSE) is a weight.",
        "What must not be seen gets the score −inf, before the exponential.",
        **_made(
            True,
            "hidden scores are 0",
            also=(
                ("hidden pairs weigh 1",),
                ("hidden scores are 0", "no guard"),
                ("hidden pairs weigh 1", "no guard"),
            ),
        ),
    ),
    "mask forgotten": Mistake(
        "Hidden keys take part: exp(S − LSE) of a key that the forward pass masked is no probability, and "
        "may even exceed 1.",
        "Set s to −inf for j > i + S_k − S_q before the exponential.",
        **_made(True, "no causal mask", also=(("no causal mask", "no guard"),)),
    ),
    "mask hides the diagonal": Mistake(
        "The mask is off by one: each query misses the last key that it may see.",
        "Visible is j ≤ i + S_k − S_q, with equality.",
        **_made(True, "diagonal hidden"),
    ),
    "mask shows one key too many": Mistake(
        "The mask is off by one: each query sees one key beyond its last.",
        "Visible is j ≤ i + S_k − S_q; with S_q = S_k query 0 sees key 0 and no other.",
        **_made(
            True,
            "one key too many",
            also=(
                ("one key too many", "no guard"),
                ("one key too many", "guarded by 0"),
            ),
        ),
    ),
    "mask aligned top-left": Mistake(
        "Your mask is j ≤ i. Here the last query sees the last key (bottom-right): j ≤ i + S_k − S_q. The "
        "two agree only for S_q = S_k.",
        "Add S_k − S_q to the row before you compare.",
        **_made(
            True,
            "top-left",
            also=(
                ("top-left mask",),
                ("top-left", "no guard"),
                ("top-left mask", "no guard"),
                ("top-left mask", "guarded by 0"),
                ("top-left", "guarded by 0"),
            ),
        ),
    ),
    "no guard for queries that see nothing": Mistake(
        "A query that sees no key has LSE = −inf, and s − LSE is −inf + inf: NaN, in rows of dQ that must "
        "be 0.",
        "Replace an LSE of −inf by +inf before the loop: exp(s − inf) is 0 for every s.",
        **_made(True, "no guard"),
    ),
    "loop ends one block early": Mistake(
        "The loop ends before the tile that the diagonal crosses: every query misses its nearest keys.",
        "The last query of block i is (i + 1) · BLOCK_Q − 1, and it sees keys up to that plus S_k − S_q.",
        **_made(True, "ends one block early"),
    ),
    "loop end without S_k − S_q": Mistake(
        "The loop ends at the program's own block of queries, as if the diagonal began in the top-left "
        "corner. With more keys than queries, visible tiles are left out.",
        "Shift the end by S_k − S_q, as in the mask.",
        **_made(True, "ends at the top-left diagonal"),
    ),
}

DQ = common(causal=False)
PADDING = ("loop over S_q", "the last, incomplete block of keys is left out", "padded keys get a probability")
CAUSAL = {  # a causal mask hides padded keys, and its loop ends elsewhere
    **{name: mistake for name, mistake in common(causal=True).items() if name not in PADDING},
    **CAUSAL_ONLY,
}
