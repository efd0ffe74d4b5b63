"""The named mistakes of lesson 08: what people get wrong about dK and dV, and what to say to them.

In torch where a formula can say it; where it cannot, the mistake is a kernel of broken_08.
"""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.exercises.broken_08 import faulty_dkv
from flashlearn.exercises.gradient_formulas import Parts, wrong_dk_dv


def _dk(x: Parts, ds=None):
    return x.alpha * (x.ds if ds is None else ds).mT @ x.q


def _dv(x: Parts, p=None):
    return (x.p if p is None else p).mT @ x.do


def _with(x: Parts, p):
    """Both gradients with other probabilities."""
    return _dk(x, x.ds_of(p)), _dv(x, p)


def _dk_unscaled(x: Parts):
    return x.ds.mT @ x.q, _dv(x)


def _dk_scaled_twice(x: Parts):
    return x.alpha * _dk(x), _dv(x)


def _no_delta(x: Parts):
    return _dk(x, x.p * x.dp), _dv(x)


def _base2(x: Parts):
    return _with(x, x.base2())


ALPHA_ON_DQ_ONLY = (
    "dK lacks the factor alpha; dV is right. Alpha belongs to dQ and dK alike: S = alpha Q Kᵀ holds both.",
    "Multiply the finished dk by alpha, once, before the store; leave dv as it is.",
)
DELTA_OMITTED = (
    "delta is missing from dK: you used dS = P ∘ dP. dV does not need delta, so it is right.",
    "Subtract delta_i from every dP of row i before you multiply by P.",
)
BASE_2 = (
    "P is too large by a power of LSE, in dV as in dK: you computed 2^(S log2 e − LSE), and this LSE is a "
    "natural logarithm.",
    "Use tl.exp(s - lse), or multiply lse by log2(e) as well before tl.exp2.",
)

DKV = {
    "alpha is missing from dK": Mistake(*ALPHA_ON_DQ_ONLY, wrong=wrong_dk_dv(_dk_unscaled)),
    "alpha applied twice to dK": Mistake(
        "dK carries alpha twice: once in dS and once at the end, perhaps.",
        "alpha belongs into s (to rebuild P) and once into dk; dS has none.",
        wrong=wrong_dk_dv(_dk_scaled_twice),
    ),
    "alpha is missing from S": Mistake(
        "P is not the forward pass's: the scores were rebuilt as Q Kᵀ, without alpha. Both show it.",
        "s must be what the forward pass had, alpha · q · k, or exp(s − lse) is no probability.",
        launcher=faulty_dkv("alpha not in s"),
    ),
    "alpha on dV": Mistake(
        "dV is multiplied by alpha. O = P V has no alpha of its own, so dV = Pᵀ dO has none.",
        "Scale dk alone.",
        wrong=wrong_dk_dv(lambda x: (_dk(x), x.alpha * _dv(x))),
    ),
    "dK and dV exchanged": Mistake(
        "Both gradients are right and in each other's place.",
        "The launcher returns (dk, dv), in this order; look at the stores, too.",
        wrong=wrong_dk_dv(lambda x: (_dv(x), _dk(x))),
    ),
    "delta omitted": Mistake(*DELTA_OMITTED, wrong=wrong_dk_dv(_no_delta)),
    "delta subtracted after P": Mistake(
        "dK was made from dS = P ∘ dP − delta: P multiplies dP alone, and delta is subtracted at full weight "
        "from every key.",
        "P multiplies the difference: ds = p * (dp - delta_i[:, None]). Mind the parentheses.",
        launcher=faulty_dkv("delta after P"),
    ),
    "delta along the keys": Mistake(
        "delta_i lies along the wrong axis: number j of the tile was subtracted from column j. The shapes "
        "fit because the tile is square, and dV, which needs no delta, is right.",
        "delta belongs to the queries, the rows of the tile, here as for dQ: delta_i[:, None].",
        launcher=faulty_dkv("delta along the keys"),
    ),
    "LSE along the keys": Mistake(
        "lse_i lies along the wrong axis: number j of the tile was subtracted from column j. The shapes fit "
        "because the tile is square.",
        "LSE belongs to the queries, the rows of the tile, here as for dQ: lse_i[:, None].",
        launcher=faulty_dkv("LSE along the keys"),
    ),
    "delta from dP without P": Mistake(
        "dK subtracts the plain sum of each row of dP. delta is the sum of P ∘ dP, the mean of dP under P.",
        "The launcher has delta already; load it by the tile's rows.",
        wrong=wrong_dk_dv(lambda x: (_dk(x, x.p * (x.dp - x.dp.sum(-1, keepdim=True))), _dv(x))),
    ),
    "LSE read as base 2": Mistake(*BASE_2, wrong=wrong_dk_dv(_base2)),
    "dK stored as dV": Mistake(
        "dV holds dK: one sum was stored twice.",
        "Compare the two stores: the pointer, the strides and the sum must be of one name.",
        wrong=wrong_dk_dv(lambda x: (_dk(x), _dk(x))),
    ),
    "only the last tile remains": Mistake(
        "dk and dv hold the last tile's share alone: each step overwrites what the steps before it found.",
        "Add: dv += tl.dot(…) and dk += tl.dot(…), starting from zeros.",
        launcher=faulty_dkv("last tile alone"),
    ),
    "dV from O": Mistake(
        "dV was computed as Pᵀ O. The gradient comes from above: dV = Pᵀ dO.",
        "Which of O and dO does your kernel load? The launcher needs O for delta only.",
        wrong=wrong_dk_dv(lambda x: (_dk(x), x.p.mT @ x.o)),
    ),
    "dP from K": Mistake(
        "dK's dP was computed as dO Kᵀ. O = P V, so dO meets V: dP = dO Vᵀ.",
        "This program owns a block of K and one of V: compare the operands with O = P V.",
        wrong=wrong_dk_dv(lambda x: (_dk(x, x.p * (x.do @ x.k.mT - x.delta)), _dv(x))),
    ),
    "dP from Q": Mistake(
        "dK's dP was computed as Q Vᵀ. O = P V, so it is dO that meets V: dP = dO Vᵀ.",
        "Compare the operands with O = P V: which of the two tiles that come by belongs to O?",
        launcher=faulty_dkv("dP from Q"),
    ),
    "dS meets K": Mistake(
        "dK was computed as dSᵀ K. S = alpha Q Kᵀ, so the derivative by K brings Q: dK = alpha dSᵀ Q. The "
        "shapes fit because the tile is square.",
        "The tiles that come by, q and do, are the second operands of the two sums.",
        launcher=faulty_dkv("dS meets K"),
    ),
    "dS not transposed": Mistake(
        "dK was computed as dS Q, tile by tile. The shapes fit because the tile is square; the sum runs over "
        "keys where it must run over queries.",
        "dK sums over queries, the rows of dS: tl.trans(ds) comes first.",
        launcher=faulty_dkv("dS not transposed"),
    ),
    "P not transposed": Mistake(
        "dV was computed as P dO, tile by tile. The shapes fit because the tile is square; the sum runs over "
        "keys where it must run over queries.",
        "dV sums over queries, the rows of P: tl.trans(p) comes first.",
        launcher=faulty_dkv("P not transposed"),
    ),
    "padded queries repeat the last one": Mistake(
        "The row indices are clamped to S_q − 1, so every padded row is the last query once more: it adds "
        "its P and its dS again and again.",
        "Mask the rows from S_q on: their P must be 0.",
        launcher=faulty_dkv("clamped rows"),
    ),
    "padded queries have LSE = −inf": Mistake(
        "A padded query is filled with LSE = −inf: P = exp(0 + ∞) is infinite, and ∞ times the zeros of "
        "dO and Q is NaN, in every key of the block.",
        "Fill LSE with +inf, so that P = exp(s − ∞) = 0, or set p to 0 where the query does not exist.",
        launcher=faulty_dkv("LSE filled with -inf"),
    ),
    "loop over S_k": Mistake(
        "The loop over queries ends at S_k, the number of keys: where there are more queries than keys, some "
        "are missing.",
        "This program scans queries: range(0, S_q, BLOCK_Q).",
        launcher=faulty_dkv("ends at S_k"),
    ),
    "the last, incomplete block of queries is left out": Mistake(
        "The loop covers only whole blocks of queries: S_q // BLOCK_Q of them.",
        "range(0, S_q, BLOCK_Q) takes the last block too; the mask handles the rest.",
        launcher=faulty_dkv("whole blocks only"),
    ),
    "strides of Q used for K": Mistake(
        "K is addressed with the strides of Q, which differ as soon as S_q ≠ S_k or the layouts do.",
        "Use k_batch, k_head, k_row and k_col for everything that starts at k_ptr.",
        launcher=faulty_dkv("strides of q"),
        status="OUT_OF_BOUNDS",
    ),
    "load of dO without a mask": Mistake(
        "The last tile of queries reaches beyond S_q, and for D below BLOCK_D its columns beyond D.",
        "mask=in_queries[:, None] & in_d[None, :], other=0.0 for dO as for Q.",
        launcher=faulty_dkv("no mask"),
        status="OUT_OF_BOUNDS",
    ),
    "dP rounded before delta is subtracted": Mistake(
        "dK's dP was rounded to half precision before delta was subtracted. Where both are large their "
        "difference keeps few digits.",
        "tl.dot answers in fp32: keep dp and delta there, and cast ds only for the product with Q.",
        launcher=faulty_dkv("dP in half"),
    ),
    "accumulated in half precision": Mistake(
        "dk and dv are rounded to half precision after every tile; the errors add up over the queries.",
        "tl.zeros(…, tl.float32) for both; convert once, at the store.",
        launcher=faulty_dkv("accumulator"),
    ),
}

CAUSAL = {
    "mask forgotten": Mistake(
        "Hidden pairs take part: exp(S − LSE) of a key that the forward pass masked is no probability, and "
        "may even exceed 1.",
        "Set s to −inf for j > i + S_k − S_q before the exponential.",
        wrong=wrong_dk_dv(lambda x: _with(x, x.seen_until(x.k.shape[-2])), causal=True),
    ),
    "mask hides the diagonal": Mistake(
        "The mask is off by one: each query misses the last key that it may see.",
        "Visible is j ≤ i + S_k − S_q, with equality.",
        wrong=wrong_dk_dv(lambda x: _with(x, x.seen_until(x.offset - 1)), causal=True),
    ),
    "mask shows one key too many": Mistake(
        "The mask is off by one: each query sees one key beyond its last.",
        "Visible is j ≤ i + S_k − S_q; with S_q = S_k query 0 sees key 0 and no other.",
        wrong=wrong_dk_dv(lambda x: _with(x, x.seen_until(x.offset + 1)), causal=True),
    ),
    "mask aligned top-left": Mistake(
        "Your mask is j ≤ i. Here the last query sees the last key (bottom-right): j ≤ i + S_k − S_q. The "
        "two agree only for S_q = S_k.",
        "Add S_k − S_q to the row before you compare.",
        wrong=wrong_dk_dv(lambda x: _with(x, x.seen_until(0)), causal=True),
    ),
    "no guard for queries that see nothing": Mistake(
        "A query that sees no key has LSE = −inf. s − LSE is −inf + inf, NaN, and the sum over queries takes "
        "it to every key of the block.",
        "Replace an LSE of −inf by +inf after the load: exp(s − inf) is 0 for every s.",
        launcher=faulty_dkv("no guard", causal=True),
    ),
    "loop starts one block late": Mistake(
        "The loop begins after the tile that the diagonal crosses: every key misses its nearest queries.",
        "The first query that sees key j is i = j − (S_k − S_q); begin with the block that holds it.",
        launcher=faulty_dkv("starts one block late", causal=True),
    ),
    "loop start without S_k − S_q": Mistake(
        "The loop begins at the program's own block of keys, as if the diagonal began in the top-left "
        "corner. With more keys than queries, visible tiles are left out.",
        "Shift the start by S_k − S_q, as in the mask, and no further than to 0.",
        launcher=faulty_dkv("starts at the top-left diagonal", causal=True),
    ),
    "alpha is missing from dK": Mistake(*ALPHA_ON_DQ_ONLY, wrong=wrong_dk_dv(_dk_unscaled, causal=True)),
    "delta omitted": Mistake(*DELTA_OMITTED, wrong=wrong_dk_dv(_no_delta, causal=True)),
    "LSE read as base 2": Mistake(*BASE_2, wrong=wrong_dk_dv(_base2, causal=True)),
    "padded queries repeat the last one": Mistake(
        "The row indices are clamped to S_q − 1, so every padded row is the last query once more: it adds "
        "its P and its dS again and again.",
        "Mask the rows from S_q on: their P must be 0.",
        launcher=faulty_dkv("clamped rows", causal=True),
    ),
}
