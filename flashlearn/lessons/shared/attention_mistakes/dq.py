"""What people get wrong about dQ."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.shared.attention_mistakes.gradients import common
from flashlearn.lessons.shared.faulty_formulas.faults import FaultyFormula


def dq(formula: FaultyFormula) -> dict[str, Mistake]:
    """The mistakes of a kernel that owns queries, scans keys and makes dQ."""
    return {
        "alpha is missing from dQ": Mistake(
            "dQ lacks the factor alpha: S = alpha Q Kᵀ, so the derivative by Q carries alpha once more.",
            "The finished sum of dQ carries alpha once. Where does it come in?",
            **formula("alpha not on dQ"),
        ),
        "alpha applied twice": Mistake(
            "dQ carries alpha twice.",
            "Apart from the alpha in the scores, from which P is recomputed, dQ has exactly one factor "
            "alpha. Which of your factors reach it: in dS, in an operand or at the end?",
            **formula("alpha twice on dQ"),
        ),
        "alpha in every step": Mistake(
            "dQ is multiplied by alpha in every step of the loop: the first tile's share carries alpha as "
            "often as there are tiles. With a single tile of keys that makes no difference.",
            "What must happen once belongs after the loop, or outside every sum that is carried on.",
            **formula("alpha in every step"),
        ),
        "delta of one tile": Mistake(
            "delta is the sum over the keys of one tile: Σ_j P_ij dP_ij needs the whole row. The two agree "
            "only where all keys fit into one tile.",
            "Take delta from O and dO, before the loop: the sum over D is complete at once.",
            **formula("delta of one tile"),
        ),
        "delta not divided by l": Mistake(
            "delta is l times too large, as if it were summed from exponentials that were not divided by l.",
            "Σ_j P_ij dP_ij needs P, not exp(S − m): divide by l, or take delta from O and dO.",
            **formula("delta times l"),
        ),
        "dQ from V": Mistake(
            "dQ comes out as alpha dS V. S = alpha Q Kᵀ, so the derivative by Q brings K: dQ = alpha dS K.",
            "Compare the operands of the product that makes dQ with S = alpha Q Kᵀ.",
            **formula("dS meets V"),
        ),
        "dS transposed": Mistake(
            "Each tile of dS is multiplied by K transposed. The shapes fit because the tile is square; the "
            "sum runs over the wrong index.",
            "dQ sums over keys: which axis of your tile of dS counts those?",
            **formula("dS transposed"),
        ),
        "the last, incomplete block of keys is left out": Mistake(
            "The last block of keys, which is not full, is missing from each row, as if there were only "
            "S_k // BLOCK_K blocks.",
            "How many blocks do S_k keys take, if the last one is not full, and does the mask let its "
            "keys through?",
            **formula("whole blocks only"),
        ),
        "padded keys get a probability": Mistake(
            "Where all scores are far below 0, dQ is NaN, as it would be if padded keys took part: with the "
            "score 0, P = exp(0 − LSE) is infinite where LSE is below −88, and ∞ · 0 is NaN.",
            "Which scores of a row can be far above its LSE, and what makes their P 0? A product with 0 "
            "comes too late.",
            **formula("padded keys"),
        ),
        "dQ accumulated in half precision": Mistake(
            "dQ is rounded to half precision with every tile; the errors add up over the row.",
            "Keep the sum, and what is added to it, in tl.float32; convert once, at the store.",
            **formula("accumulator in half"),
        ),
        "loop over S_q": Mistake(
            "The keys end at S_q, the number of queries: where there are more keys than queries, some are "
            "missing.",
            "This program scans keys. How many are there?",
            **formula("ends at S_q"),
        ),
        "V's pointer is not advanced": Mistake(
            "Every step computes dP from the first tile of V, while K advances.",
            "The addresses of K contain the step. Do those of V?",
            **formula("V stays"),
        ),
        "K's pointer is not advanced": Mistake(
            "Every step uses the first tile of K, while V advances.",
            "The addresses of V contain the step. Do those of K?",
            **formula("K stays"),
        ),
        **common(formula, keys=False),
    }
