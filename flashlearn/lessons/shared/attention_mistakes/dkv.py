"""What people get wrong about dK and dV."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.shared.attention_mistakes.gradients import common
from flashlearn.lessons.shared.faulty_formulas.faults import Also, FaultyFormula


def _padded(fault: str) -> Also:
    """The fault in kernels that leave alone what lies beyond the last key, or the last query, or both.

    It does not matter as long as rows are queries and columns keys.
    """
    return ((fault, "padded keys"), (fault, "LSE filled with 0"), (fault, "padded keys", "LSE filled with 0"))


def dkv(formula: FaultyFormula) -> dict[str, Mistake]:
    """The mistakes of a kernel that owns keys, scans queries and makes dK and dV."""
    return {
        "alpha is missing from dK": Mistake(
            "dK lacks the factor alpha. Alpha belongs to dQ and dK alike: S = alpha Q Kᵀ holds both.",
            "Multiply the finished dk by alpha, once, before the store; leave dv as it is.",
            **formula("alpha not on dK"),
        ),
        "alpha applied twice to dK": Mistake(
            "dK carries alpha twice: once in dS and once at the end, perhaps.",
            "alpha belongs in s (to rebuild P) and once in dk; dS has none.",
            **formula("alpha twice on dK"),
        ),
        "alpha on dV": Mistake(
            "dV is multiplied by alpha. O = P V has no alpha of its own, so dV = Pᵀ dO has none.",
            "Scale dk alone.",
            **formula("alpha on dV"),
        ),
        "dK and dV exchanged": Mistake(
            "dK and dV are in each other's place.",
            "The launcher returns (dk, dv), in this order; look at the stores, too.",
            **formula("exchanged"),
        ),
        "dK stored as dV": Mistake(
            "dV holds dK: one sum was stored twice.",
            "Compare the two stores: the pointer, the strides and the sum must be of one name.",
            **formula("dK stored as dV"),
        ),
        "dV from O": Mistake(
            "dV was computed as Pᵀ O. The gradient comes from above: dV = Pᵀ dO.",
            "Which of O and dO does your kernel load? The launcher needs O for delta only.",
            **formula("dV from O"),
        ),
        "dS meets K": Mistake(
            "dK was computed as dSᵀ K. S = alpha Q Kᵀ, so the derivative by K brings Q: dK = alpha dSᵀ Q. "
            "The shapes fit because the tile is square.",
            "The tiles that come by, q and do, are the second operands of the two sums.",
            **formula("dS meets K"),
        ),
        "dS not transposed": Mistake(
            "dK was computed as dS Q, tile by tile. The shapes fit because the tile is square; the sum runs "
            "over keys where it must run over queries.",
            "dK sums over queries, the rows of dS: tl.trans(ds) comes first.",
            **formula("dS not transposed", also=_padded("dS not transposed")),
        ),
        "P not transposed": Mistake(
            "dV was computed as P dO, tile by tile. The shapes fit because the tile is square; the sum runs "
            "over keys where it must run over queries.",
            "dV sums over queries, the rows of P: tl.trans(p) comes first.",
            **formula("P not transposed", also=_padded("P not transposed")),
        ),
        "padded queries repeat the last one": Mistake(
            "The row indices are clamped to S_q − 1, so every padded row is the last query once more: it "
            "adds its P and its dS again and again.",
            "Mask the rows from S_q on: their P must be 0.",
            **formula("clamped rows"),
        ),
        "padded queries have LSE = −inf": Mistake(
            "A padded query is filled with LSE = −inf: P = exp(0 + ∞) is infinite, and ∞ times the zeros of "
            "dO and Q is NaN, in every key of the block.",
            "Fill LSE with +inf, so that P = exp(s − ∞) = 0, or set p to 0 where the query does not exist.",
            **formula("LSE filled with -inf"),
        ),
        "loop over S_k": Mistake(
            "The loop over queries ends at S_k, the number of keys: where there are more queries than keys, "
            "some are missing.",
            "This program scans queries: range(0, S_q, BLOCK_Q).",
            **formula("ends at S_k"),
        ),
        "the last, incomplete block of queries is left out": Mistake(
            "The loop covers only whole blocks of queries: S_q // BLOCK_Q of them.",
            "range(0, S_q, BLOCK_Q) takes the last block too; the mask handles the rest.",
            **formula("whole blocks only"),
        ),
        "accumulated in half precision": Mistake(
            "dk and dv are rounded to half precision after every tile; the errors add up over the queries.",
            "tl.zeros(…, tl.float32) for both; convert once, at the store.",
            **formula("accumulator in half"),
        ),
        "dV from dS": Mistake(
            "dV was computed as dSᵀ dO. O = P V, so it is P that weighs dO: dV = Pᵀ dO.",
            "Two sums, two weights: dv takes p, dk takes ds.",
            **formula("dV from dS"),
        ),
        "dK from dO": Mistake(
            "dK was computed as dSᵀ dO. S = alpha Q Kᵀ, so the derivative by K brings Q: dK = alpha dSᵀ Q.",
            "Two sums, two partners: dv takes do, dk takes q.",
            **formula("dS meets dO"),
        ),
        "dO's pointer is not advanced": Mistake(
            "Every step takes the first tile of dO, while Q moves on.",
            "The addresses of dO contain the step: start + queries, as those of Q do.",
            **formula("dO stays"),
        ),
        "Q's pointer is not advanced": Mistake(
            "Every step takes the first tile of Q, while dO moves on.",
            "The addresses of Q contain the step: start + queries, as those of dO do.",
            **formula("Q stays"),
        ),
        **common(formula, keys=True),
    }
