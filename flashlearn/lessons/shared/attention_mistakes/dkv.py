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
            "dK lacks the factor alpha. S = alpha Q Kᵀ: dQ and dK both carry it.",
            "The finished sum of dK carries alpha once, and that of dV does not. Where does it come in?",
            **formula("alpha not on dK"),
        ),
        "alpha applied twice to dK": Mistake(
            "dK carries alpha twice.",
            "Apart from the alpha in the scores, from which P is recomputed, dK has exactly one factor "
            "alpha. Which of your factors reach it: in dS, in an operand or at the end?",
            **formula("alpha twice on dK"),
        ),
        "alpha on dV": Mistake(
            "dV carries a factor alpha. O = P V has no alpha of its own, so dV = Pᵀ dO has none.",
            "dV has no factor alpha: which of yours reaches it?",
            **formula("alpha on dV"),
        ),
        "dK and dV exchanged": Mistake(
            "dK and dV are swapped.",
            "The launcher is to return dk before dv. Which of the two sums does each store write, and where?",
            **formula("exchanged"),
        ),
        "dK stored as dV": Mistake(
            "dV holds the numbers of dK: one of the two sums came back twice.",
            "Compare the two stores: the pointer, the strides and the sum must belong to the same output. "
            "And which two tensors does the launcher return?",
            **formula("dK stored as dV"),
        ),
        "dV from O": Mistake(
            "dV was computed as Pᵀ O. The incoming gradient is dO: dV = Pᵀ dO.",
            "Which of O and dO does your kernel load? The launcher needs O for delta only.",
            **formula("dV from O"),
        ),
        "dS meets K": Mistake(
            "dK was computed as dSᵀ K. S = alpha Q Kᵀ, so the derivative by K brings Q: dK = alpha dSᵀ Q. "
            "The shapes fit because the tile is square.",
            "The tiles that the loop loads, of Q and of dO, are the second operands of the two sums.",
            **formula("dS meets K"),
        ),
        "dS not transposed": Mistake(
            "dK is the sum of dS Q, tile by tile. The shapes fit because the tile is square; the sum runs "
            "over keys where it must run over queries.",
            "dK sums over queries: which axis of your tile of dS counts those?",
            **formula("dS not transposed", also=_padded("dS not transposed")),
        ),
        "P not transposed": Mistake(
            "dV is the sum of P dO, tile by tile. The shapes fit because the tile is square; the sum runs "
            "over keys where it must run over queries.",
            "dV sums over queries: which axis of your tile of P counts those?",
            **formula("P not transposed", also=_padded("P not transposed")),
        ),
        "padded queries repeat the last one": Mistake(
            "The last query is counted again for each padded row, as if row numbers were clamped to S_q − 1.",
            "Which mask keeps the rows from S_q on out of the sums over queries, and of which row numbers?",
            **formula("clamped rows"),
        ),
        "padded queries have LSE = −inf": Mistake(
            "dK and dV are NaN wherever a block has padded queries, as they would be if those had LSE = "
            "−inf: P = exp(0 + ∞) is infinite, and ∞ times the zeros of dO and Q is NaN.",
            "Which LSE makes exp(s − LSE) 0 for every s? Or make P itself 0 where the query does not exist.",
            **formula("LSE filled with -inf"),
        ),
        "loop over S_k": Mistake(
            "The loop over queries ends at S_k, the number of keys: where the queries fill more tiles than "
            "the keys, the last of them are missing.",
            "This program scans queries. How many are there?",
            **formula("ends at S_k"),
        ),
        "the last, incomplete block of queries is left out": Mistake(
            "The last block of queries, which is not full, is missing, as if there were only S_q // "
            "BLOCK_Q blocks.",
            "How many blocks do S_q queries take, if the last one is not full, and does the mask let its "
            "queries through?",
            **formula("whole blocks only"),
        ),
        "accumulated in half precision": Mistake(
            "dK and dV are rounded to half precision with every tile; the errors add up over the queries.",
            "Keep both sums, and what is added to them, in tl.float32; convert once, at the store.",
            **formula("accumulator in half"),
        ),
        "dV from dS": Mistake(
            "dV was computed as dSᵀ dO. O = P V, so it is P that weighs dO: dV = Pᵀ dO.",
            "Two sums, two weights: dV takes P, dK takes dS.",
            **formula("dV from dS"),
        ),
        "dK from dO": Mistake(
            "dK was computed as dSᵀ dO. S = alpha Q Kᵀ, so the derivative by K brings Q: dK = alpha dSᵀ Q.",
            "Two sums, two partners: dV takes dO, dK takes Q.",
            **formula("dS meets dO"),
        ),
        "dO's pointer is not advanced": Mistake(
            "Every step uses the first tile of dO, while Q advances.",
            "The addresses of Q contain the step. Do those of dO?",
            **formula("dO stays"),
        ),
        "Q's pointer is not advanced": Mistake(
            "Every step uses the first tile of Q, while dO advances.",
            "The addresses of dO contain the step. Do those of Q?",
            **formula("Q stays"),
        ),
        **common(formula, keys=True),
    }
