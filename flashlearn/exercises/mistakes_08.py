"""The named mistakes of lesson 08: what people get wrong about dK and dV, and what to say to them.

In torch, tile by tile, where faulty_gradients can say it; where it cannot, the mistake is a kernel of
broken_08.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from flashlearn.exercise import Mistake
from flashlearn.exercises.broken_08 import faulty_dkv
from flashlearn.exercises.faulty_gradients import dkv_scan


def _made(causal: bool, *faults: str, also: tuple[tuple[str, ...], ...] = ()) -> dict[str, Any]:
    """A mistake's formula; `also` are sets of faults that make the same mistake in another way."""

    def formula(*names: str) -> Callable[..., Any]:
        return functools.partial(dkv_scan, causal=causal, faults=frozenset(names))

    return {"wrong": formula(*faults), "also": tuple(formula(*names) for names in also)}


def common(causal: bool) -> dict[str, Mistake]:
    """The mistakes that can be made with and without a causal mask."""
    return {
        "alpha is missing from dK": Mistake(
            "dK lacks the factor alpha; dV is right. Alpha belongs to dQ and dK alike: S = alpha Q Kᵀ holds "
            "both.",
            "Multiply the finished dk by alpha, once, before the store; leave dv as it is.",
            **_made(causal, "alpha not on dK"),
        ),
        "alpha applied twice to dK": Mistake(
            "dK carries alpha twice: once in dS and once at the end, perhaps.",
            "alpha belongs into s (to rebuild P) and once into dk; dS has none.",
            **_made(causal, "alpha twice on dK"),
        ),
        "alpha is missing from S": Mistake(
            "P is not the forward pass's: the scores were rebuilt as Q Kᵀ, without alpha. P enters dK and dV "
            "alike.",
            "s must be what the forward pass had, alpha · q · k, or exp(s − lse) is no probability.",
            **_made(causal, "alpha not in s"),
        ),
        "alpha on dV": Mistake(
            "dV is multiplied by alpha. O = P V has no alpha of its own, so dV = Pᵀ dO has none.",
            "Scale dk alone.",
            **_made(causal, "alpha on dV"),
        ),
        "dK and dV exchanged": Mistake(
            "Both gradients are right and in each other's place.",
            "The launcher returns (dk, dv), in this order; look at the stores, too.",
            **_made(causal, "exchanged"),
        ),
        "delta omitted": Mistake(
            "delta is missing from dK: you used dS = P ∘ dP. dV does not need delta, so it is right.",
            "Subtract delta_i from every dP of row i before you multiply by P.",
            **_made(causal, "delta omitted"),
        ),
        "delta subtracted after P": Mistake(
            "dK was made from dS = P ∘ dP − delta: P multiplies dP alone, and delta is subtracted at full "
            "weight from every key.",
            "P multiplies the difference: ds = p * (dp - delta_i[:, None]). Mind the parentheses.",
            **_made(causal, "delta after P"),
        ),
        "delta along the keys": Mistake(
            "delta_i lies along the wrong axis: number j of the tile was subtracted from column j. The "
            "shapes fit because the tile is square, and dV, which needs no delta, is right.",
            "delta belongs to the queries, the rows of the tile, here as for dQ: delta_i[:, None].",
            **_made(causal, "delta along the keys"),
        ),
        "LSE along the keys": Mistake(
            "lse_i lies along the wrong axis: number j of the tile was subtracted from column j. The shapes "
            "fit because the tile is square.",
            "LSE belongs to the queries, the rows of the tile, here as for dQ: lse_i[:, None].",
            **_made(causal, "LSE along the keys"),
        ),
        "delta from dP without P": Mistake(
            "dK subtracts the plain sum of each row of dP. delta is the sum of P ∘ dP, the mean of dP under "
            "P.",
            "The launcher has delta already; load it by the tile's rows.",
            **_made(causal, "delta is the sum of dP"),
        ),
        "LSE read as base 2": Mistake(
            "P is too large by a power of LSE, in dV as in dK: you computed 2^(S log2 e − LSE), and this "
            "LSE is a natural logarithm.",
            "Use tl.exp(s - lse), or multiply lse by log2(e) as well before tl.exp2.",
            **_made(causal, "LSE in base 2"),
        ),
        "dK stored as dV": Mistake(
            "dV holds dK: one sum was stored twice.",
            "Compare the two stores: the pointer, the strides and the sum must be of one name.",
            **_made(causal, "dK stored as dV"),
        ),
        "only the last tile remains": Mistake(
            "dk and dv hold the last tile's share alone: each step overwrites what the steps before it "
            "found.",
            "Add: dv += tl.dot(…) and dk += tl.dot(…), starting from zeros.",
            **_made(causal, "last tile alone"),
        ),
        "dV from O": Mistake(
            "dV was computed as Pᵀ O. The gradient comes from above: dV = Pᵀ dO.",
            "Which of O and dO does your kernel load? The launcher needs O for delta only.",
            **_made(causal, "dV from O"),
        ),
        "dP from K": Mistake(
            "dK's dP was computed as dO Kᵀ. O = P V, so dO meets V: dP = dO Vᵀ.",
            "This program owns a block of K and one of V: compare the operands with O = P V.",
            **_made(causal, "dP from K"),
        ),
        "dP from Q": Mistake(
            "dK's dP was computed as Q Vᵀ. O = P V, so it is dO that meets V: dP = dO Vᵀ.",
            "Compare the operands with O = P V: which of the two tiles that come by belongs to O?",
            **_made(causal, "dP from Q"),
        ),
        "dS meets K": Mistake(
            "dK was computed as dSᵀ K. S = alpha Q Kᵀ, so the derivative by K brings Q: dK = alpha dSᵀ Q. "
            "The shapes fit because the tile is square.",
            "The tiles that come by, q and do, are the second operands of the two sums.",
            **_made(causal, "dS meets K"),
        ),
        "dS not transposed": Mistake(
            "dK was computed as dS Q, tile by tile. The shapes fit because the tile is square; the sum runs "
            "over keys where it must run over queries.",
            "dK sums over queries, the rows of dS: tl.trans(ds) comes first.",
            **_made(causal, "dS not transposed"),
        ),
        "P not transposed": Mistake(
            "dV was computed as P dO, tile by tile. The shapes fit because the tile is square; the sum runs "
            "over keys where it must run over queries.",
            "dV sums over queries, the rows of P: tl.trans(p) comes first.",
            **_made(causal, "P not transposed"),
        ),
        "padded queries repeat the last one": Mistake(
            "The row indices are clamped to S_q − 1, so every padded row is the last query once more: it "
            "adds its P and its dS again and again.",
            "Mask the rows from S_q on: their P must be 0.",
            **_made(causal, "clamped rows"),
        ),
        "padded queries have LSE = −inf": Mistake(
            "A padded query is filled with LSE = −inf: P = exp(0 + ∞) is infinite, and ∞ times the zeros of "
            "dO and Q is NaN, in every key of the block.",
            "Fill LSE with +inf, so that P = exp(s − ∞) = 0, or set p to 0 where the query does not exist.",
            **_made(causal, "LSE filled with -inf"),
        ),
        "loop over S_k": Mistake(
            "The loop over queries ends at S_k, the number of keys: where there are more queries than keys, "
            "some are missing.",
            "This program scans queries: range(0, S_q, BLOCK_Q).",
            **_made(causal, "ends at S_k"),
        ),
        "the last, incomplete block of queries is left out": Mistake(
            "The loop covers only whole blocks of queries: S_q // BLOCK_Q of them.",
            "range(0, S_q, BLOCK_Q) takes the last block too; the mask handles the rest.",
            **_made(causal, "whole blocks only"),
        ),
        "strides of Q used for K": Mistake(
            "K is addressed with the strides of Q, which differ as soon as S_q ≠ S_k or the layouts do.",
            "Use k_batch, k_head, k_row and k_col for everything that starts at k_ptr.",
            launcher=faulty_dkv("strides of q", causal),
            status="OUT_OF_BOUNDS",
        ),
        "load of dO without a mask": Mistake(
            "The last tile of queries reaches beyond S_q, and for D below BLOCK_D its columns beyond D.",
            "mask=in_queries[:, None] & in_d[None, :], other=0.0 for dO as for Q.",
            launcher=faulty_dkv("no mask", causal),
            status="OUT_OF_BOUNDS",
        ),
        "dP rounded before delta is subtracted": Mistake(
            "dK's dP was rounded to half precision before delta was subtracted. Where both are large their "
            "difference keeps few digits.",
            "tl.dot answers in fp32: keep dp and delta there, and cast ds only for the product with Q.",
            **_made(causal, "dP in half"),
        ),
        "accumulated in half precision": Mistake(
            "dk and dv are rounded to half precision after every tile; the errors add up over the queries.",
            "tl.zeros(…, tl.float32) for both; convert once, at the store.",
            **_made(causal, "accumulator in half"),
        ),
        "LSE forgotten": Mistake(
            "P was computed as exp(s): LSE is not subtracted, so no row of P sums to 1. Both gradients show "
            "it.",
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
            "dK's dP was computed as O Vᵀ. dP is the loss's derivative by P, so it starts from dO: dP = dO "
            "Vᵀ.",
            "O is needed for delta only.",
            **_made(causal, "dP from O"),
        ),
        "delta added": Mistake(
            "delta was added where it must be subtracted: dS = P ∘ (dP + delta). dV needs no delta and is "
            "right.",
            "Each row of dS must sum to 0. Print the sums of one tile row.",
            **_made(causal, "delta added"),
        ),
        "P in front forgotten": Mistake(
            "dK was made from dS = dP − delta, without the factor P.",
            "dS_ij = P_ij (dP_ij − delta_i): a key that gets no weight gets no gradient.",
            **_made(causal, "P forgotten in dS"),
        ),
        "dV from dS": Mistake(
            "dV was computed as dSᵀ dO. O = P V, so it is P that weighs dO: dV = Pᵀ dO.",
            "Two sums, two weights: dv takes p, dk takes ds.",
            **_made(causal, "dV from dS"),
        ),
        "dK from dO": Mistake(
            "dK was computed as dSᵀ dO. S = alpha Q Kᵀ, so the derivative by K brings Q: dK = alpha dSᵀ Q.",
            "Two sums, two partners: dv takes do, dk takes q.",
            **_made(causal, "dS meets dO"),
        ),
        "first tile missing": Mistake(
            "The loop over queries begins one tile late: the first BLOCK_Q queries are never met.",
            "Begin where the first query that sees this block begins.",
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
        "dO's pointer is not advanced": Mistake(
            "Every step takes the first tile of dO, while Q moves on.",
            "The addresses of dO contain the step: start + queries, as those of Q do.",
            **_made(causal, "dO stays"),
        ),
        "Q's pointer is not advanced": Mistake(
            "Every step takes the first tile of Q, while dO moves on.",
            "The addresses of Q contain the step: start + queries, as those of dO do.",
            **_made(causal, "Q stays"),
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
        "Hidden pairs take part: exp(S − LSE) of a key that the forward pass masked is no probability, and "
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
        "A query that sees no key has LSE = −inf. s − LSE is −inf + inf, NaN, and the sum over queries takes "
        "it to every key of the block.",
        "Replace an LSE of −inf by +inf after the load: exp(s − inf) is 0 for every s.",
        **_made(True, "no guard"),
    ),
    "loop starts one block late": Mistake(
        "The loop begins after the tile that the diagonal crosses: every key misses its nearest queries.",
        "The first query that sees key j is i = j − (S_k − S_q); begin with the block that holds it.",
        **_made(True, "starts one block late", also=(("start rounded up",),)),
    ),
    "loop start without S_k − S_q": Mistake(
        "The loop begins at the program's own block of keys, as if the diagonal began in the top-left "
        "corner. With more keys than queries, visible tiles are left out.",
        "Shift the start by S_k − S_q, as in the mask, and no further than to 0.",
        **_made(True, "starts at the top-left diagonal"),
    ),
}

DKV = common(causal=False)
CAUSAL = {**common(causal=True), **CAUSAL_ONLY}
