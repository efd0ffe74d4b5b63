"""The named mistakes of lesson 07: what people get wrong about dQ, and what to say to them.

In torch where a formula can say it; where it cannot, the mistake is a kernel of broken_07.
"""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.exercises.broken_07 import faulty_dq
from flashlearn.exercises.gradient_formulas import Parts, wrong_dq


def _alpha_forgotten(x: Parts):
    return x.ds @ x.k


def _alpha_twice(x: Parts):
    return x.alpha**2 * x.ds @ x.k


def _no_delta(x: Parts):
    return x.alpha * (x.p * x.dp) @ x.k


def _base2(x: Parts):
    return x.alpha * x.ds_of(x.base2()) @ x.k


SCALE_FORGOTTEN = (
    "dQ lacks the factor alpha: S = alpha Q Kᵀ, so the derivative by Q carries alpha once more.",
    "Multiply the finished dq by alpha, once, before the store.",
)
SCALE_TWICE = (
    "dQ carries alpha twice: once in dS and once at the end, perhaps.",
    "alpha belongs into s (to rebuild P) and once into dq; dS has none.",
)
DELTA_OMITTED = (
    "delta is missing: you used dS = P ∘ dP, the diagonal part of softmax's Jacobian alone.",
    "Subtract delta_i from every dP of row i before you multiply by P.",
)
BASE_2 = (
    "P is too large by a power of LSE: you computed 2^(S log2 e − LSE), and this LSE is a natural logarithm.",
    "Use tl.exp(s - lse), or multiply lse by log2(e) as well before tl.exp2.",
)

DQ = {
    "alpha is missing from dQ": Mistake(*SCALE_FORGOTTEN, wrong=wrong_dq(_alpha_forgotten)),
    "alpha applied twice": Mistake(*SCALE_TWICE, wrong=wrong_dq(_alpha_twice)),
    "alpha is missing from S": Mistake(
        "P is not the forward pass's: the scores were rebuilt as Q Kᵀ, without alpha.",
        "s must be what the forward pass had, alpha · q · k, or exp(s − lse) is no probability.",
        launcher=faulty_dq("alpha not in s"),
    ),
    "alpha in every step": Mistake(
        "dq is multiplied by alpha in every step of the loop: the first tile's share carries alpha as often "
        "as there are tiles. With a single tile of keys it is right.",
        "dq *= alpha belongs after the loop, once.",
        launcher=faulty_dq("alpha in every step"),
    ),
    "only the last tile remains": Mistake(
        "dq holds the last tile's share alone: each step overwrites what the steps before it found.",
        "Add: dq += tl.dot(…), starting from zeros.",
        launcher=faulty_dq("last tile alone"),
    ),
    "delta omitted": Mistake(*DELTA_OMITTED, wrong=wrong_dq(_no_delta)),
    "delta subtracted after P": Mistake(
        "You used dS = P ∘ dP − delta: P multiplies dP alone, and delta is subtracted at full weight from "
        "every key.",
        "P multiplies the difference: ds = p * (dp - delta_i[:, None]). Mind the parentheses.",
        launcher=faulty_dq("delta after P"),
    ),
    "delta along the keys": Mistake(
        "delta_i lies along the wrong axis: number j of the block was subtracted from column j. The shapes "
        "fit because the tile is square.",
        "delta belongs to the queries, the rows of the tile: delta_i[:, None].",
        launcher=faulty_dq("delta along the keys"),
    ),
    "LSE along the keys": Mistake(
        "lse_i lies along the wrong axis: number j of the block was subtracted from column j. The shapes "
        "fit because the tile is square.",
        "LSE belongs to the queries, the rows of the tile: lse_i[:, None].",
        launcher=faulty_dq("LSE along the keys"),
    ),
    "delta added": Mistake(
        "delta was added where it must be subtracted: dS = P ∘ (dP + delta).",
        "Each row of dS must sum to 0. Print the sums of one tile row.",
        wrong=wrong_dq(lambda x: x.alpha * (x.p * (x.dp + x.delta)) @ x.k),
    ),
    "delta from dP without P": Mistake(
        "You subtracted the plain sum of each row of dP. delta is the sum of P ∘ dP, the mean of dP under P.",
        "The launcher has delta already: Σ_d dO ∘ O, one number per query, loaded once before the loop.",
        wrong=wrong_dq(lambda x: x.alpha * (x.p * (x.dp - x.dp.sum(-1, keepdim=True))) @ x.k),
    ),
    "delta of one tile": Mistake(
        "delta was summed over the keys of one tile: Σ_j P_ij dP_ij needs the whole row, so the result is "
        "right only where all keys fit into one tile.",
        "Take delta from O and dO, before the loop: the sum over D is complete at once.",
        launcher=faulty_dq("delta of the tile"),
    ),
    "P in front forgotten": Mistake(
        "You used dS = dP − delta, without the factor P.",
        "dS_ij = P_ij (dP_ij − delta_i): a key that gets no weight gets no gradient.",
        wrong=wrong_dq(lambda x: x.alpha * (x.dp - x.delta) @ x.k),
    ),
    "LSE read as base 2": Mistake(*BASE_2, wrong=wrong_dq(_base2)),
    "dP from K": Mistake(
        "dP was computed as dO Kᵀ. O = P V, so dO meets V: dP = dO Vᵀ.",
        "Compare the operands of your second tl.dot with O = P V.",
        wrong=wrong_dq(lambda x: x.alpha * (x.p * (x.do @ x.k.mT - x.delta)) @ x.k),
    ),
    "dQ from V": Mistake(
        "The last product is dS V. S = alpha Q Kᵀ, so the derivative by Q brings K: dQ = alpha dS K.",
        "Compare the operands of your last tl.dot with S = alpha Q Kᵀ.",
        wrong=wrong_dq(lambda x: x.alpha * x.ds @ x.v),
    ),
    "dS transposed": Mistake(
        "Each tile of dS was transposed before it met K. The shapes fit because the tile is square; the "
        "sum runs over the wrong index.",
        "Rows of dS are queries and columns keys: dQ sums over keys, dS K, with nothing transposed.",
        launcher=faulty_dq("dS transposed"),
    ),
    "the last, incomplete block of keys is left out": Mistake(
        "The loop covers only whole blocks of keys: S_k // BLOCK_K of them. The rest of each row is missing.",
        "range(0, S_k, BLOCK_K) takes the last block too; the mask handles the rest.",
        launcher=faulty_dq("whole blocks only"),
    ),
    "padded keys get a probability": Mistake(
        "A padded key has k = 0, so s = 0 and P = exp(0 − LSE), which is infinite where LSE is below −88. "
        "∞ · 0 is NaN, and it ends up in dQ.",
        "Set s to −inf where the key does not exist: tl.where(in_keys[None, :], s, -float(\"inf\")).",
        launcher=faulty_dq("padded keys"),
    ),
    "strides of Q used for K": Mistake(
        "K is addressed with the strides of Q, which differ as soon as S_q ≠ S_k or the layouts do.",
        "Use k_batch, k_head, k_row and k_col for everything that starts at k_ptr.",
        launcher=faulty_dq("strides of q"),
        status="OUT_OF_BOUNDS",
    ),
    "load of K without a mask": Mistake(
        "The last tile of keys reaches beyond S_k, and for D below BLOCK_D its columns beyond D.",
        "mask=in_keys[:, None] & in_d[None, :], other=0.0 for K as for V.",
        launcher=faulty_dq("no mask"),
        status="OUT_OF_BOUNDS",
    ),
    "dP rounded before delta is subtracted": Mistake(
        "dP was rounded to half precision before delta was subtracted. Where both are large their "
        "difference keeps few digits.",
        "tl.dot answers in fp32: keep dp and delta there, and cast ds only for the product with K.",
        launcher=faulty_dq("dP in half"),
    ),
    "dQ accumulated in half precision": Mistake(
        "dq is rounded to half precision after every tile; the errors add up over the row.",
        "dq = tl.zeros(…, tl.float32); convert once, at the store.",
        launcher=faulty_dq("accumulator"),
    ),
}  # fmt: skip

CAUSAL = {
    "mask forgotten": Mistake(
        "Hidden keys take part: exp(S − LSE) of a key that the forward pass masked is no probability, and "
        "may even exceed 1.",
        "Set s to −inf for j > i + S_k − S_q before the exponential.",
        wrong=wrong_dq(lambda x: x.alpha * x.ds_of(x.seen_until(x.k.shape[-2])) @ x.k, causal=True),
    ),
    "mask hides the diagonal": Mistake(
        "The mask is off by one: each query misses the last key that it may see.",
        "Visible is j ≤ i + S_k − S_q, with equality.",
        wrong=wrong_dq(lambda x: x.alpha * x.ds_of(x.seen_until(x.offset - 1)) @ x.k, causal=True),
    ),
    "mask shows one key too many": Mistake(
        "The mask is off by one: each query sees one key beyond its last.",
        "Visible is j ≤ i + S_k − S_q; with S_q = S_k query 0 sees key 0 and no other.",
        wrong=wrong_dq(lambda x: x.alpha * x.ds_of(x.seen_until(x.offset + 1)) @ x.k, causal=True),
    ),
    "mask aligned top-left": Mistake(
        "Your mask is j ≤ i. Here the last query sees the last key (bottom-right): j ≤ i + S_k − S_q. The "
        "two agree only for S_q = S_k.",
        "Add S_k − S_q to the row before you compare.",
        wrong=wrong_dq(lambda x: x.alpha * x.ds_of(x.seen_until(0)) @ x.k, causal=True),
    ),
    "no guard for queries that see nothing": Mistake(
        "A query that sees no key has LSE = −inf, and s − LSE is −inf + inf: NaN, in rows of dQ that must "
        "be 0.",
        "Replace an LSE of −inf by +inf before the loop: exp(s − inf) is 0 for every s.",
        launcher=faulty_dq("no guard", causal=True),
    ),
    "loop ends one block early": Mistake(
        "The loop ends before the tile that the diagonal crosses: every query misses its nearest keys.",
        "The last query of block i is (i + 1) · BLOCK_Q − 1, and it sees keys up to that plus S_k − S_q.",
        launcher=faulty_dq("ends one block early", causal=True),
    ),
    "loop end without S_k − S_q": Mistake(
        "The loop ends at the program's own block of queries, as if the diagonal began in the top-left "
        "corner. With more keys than queries, visible tiles are left out.",
        "Shift the end by S_k − S_q, as in the mask.",
        launcher=faulty_dq("ends at the top-left diagonal", causal=True),
    ),
    "alpha is missing from dQ": Mistake(*SCALE_FORGOTTEN, wrong=wrong_dq(_alpha_forgotten, causal=True)),
    "alpha applied twice": Mistake(*SCALE_TWICE, wrong=wrong_dq(_alpha_twice, causal=True)),
    "delta omitted": Mistake(*DELTA_OMITTED, wrong=wrong_dq(_no_delta, causal=True)),
    "LSE read as base 2": Mistake(*BASE_2, wrong=wrong_dq(_base2, causal=True)),
}
