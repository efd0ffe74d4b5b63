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
            "dK = alpha dSᵀ Q: the sum over the queries is multiplied by alpha once.",
            **formula("alpha not on dK"),
        ),
        "alpha applied twice to dK": Mistake(
            "dK carries alpha twice.",
            "dK = alpha dSᵀ Q has one factor alpha: where does each of yours come in?",
            **formula("alpha twice on dK"),
        ),
        "alpha on dV": Mistake(
            "dV carries a factor alpha. O = P V has no alpha of its own, so dV = Pᵀ dO has none.",
            "dV has no factor alpha: which of yours reaches it?",
            **formula("alpha on dV"),
        ),
        "dK and dV exchanged": Mistake(
            "dK and dV are swapped.",
            "dk is returned first and dv second: where do they change places?",
            **formula("exchanged"),
        ),
        "dK stored as dV": Mistake(
            "dV holds the numbers of dK: one of the two sums came back twice.",
            "Follow dv from its sum to the tensor that is returned: where does dK come in?",
            **formula("dK stored as dV"),
        ),
        "dV from O": Mistake(
            "dV was computed as Pᵀ O. The incoming gradient is dO: dV = Pᵀ dO.",
            "dV_j is Σ_i P_ij dO_i.",
            **formula("dV from O"),
        ),
        "dS meets K": Mistake(
            "dK was computed as dSᵀ K. S = alpha Q Kᵀ, so the derivative by K brings Q: dK = alpha dSᵀ Q. "
            "The shapes fit because the tile is square.",
            "dK_j is alpha Σ_i dS_ij Q_i.",
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
            "What makes P 0 for a row from S_q on?",
            **formula("clamped rows"),
        ),
        "padded queries have LSE = −inf": Mistake(
            "NaN appears where a block has padded queries, as it would if those had LSE = −inf: "
            "P = exp(0 + ∞) is infinite, and ∞ times the zeros of dO and Q is NaN.",
            "What makes P 0 in the rows beyond the last query?",
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
            "Where does query S_q − 1, the last one, enter the sums?",
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
            "In each step dO is read at the same queries as Q.",
            **formula("dO stays"),
        ),
        "Q's pointer is not advanced": Mistake(
            "Every step uses the first tile of Q, while dO advances.",
            "In each step Q is read at the same queries as dO.",
            **formula("Q stays"),
        ),
        **common(formula, keys=True),
    }
