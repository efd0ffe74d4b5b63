"""What people get wrong in FlashAttention's forward pass with a causal mask."""

from __future__ import annotations

from flashlearn.exercise import Mistake
from flashlearn.lessons.shared.attention_mistakes.forward import common
from flashlearn.lessons.shared.faulty_formulas.faults import FaultyFormula
from flashlearn.lessons.shared.faulty_formulas.forward import FILLERS

USUAL_FILLER, *OTHER_FILLERS = FILLERS


def causal_forward(formula: FaultyFormula) -> dict[str, Mistake]:
    """The mistakes of a kernel with a causal mask."""
    return {
        **common(formula),
        "no causal mask": Mistake(
            "Every query sees every key: the answer is that of attention without a mask.",
            "Keys with j > i + S_k − S_q have to be hidden from query i.",
            **formula("no causal mask"),
        ),
        "the diagonal is hidden": Mistake(
            "The mask is one key too strict: query i sees the keys j < i + S_k − S_q, but not the key j = "
            "i + S_k − S_q.",
            "A token attends to itself: query i sees the keys j ≤ i + S_k − S_q.",
            **formula("diagonal hidden", also=(("diagonal hidden", "no guards"),)),
        ),
        "one key too many": Mistake(
            "The mask is one key too generous: query i sees the keys up to i + 1 + S_k − S_q, one from the "
            "future.",
            "Query i sees the keys j ≤ i + S_k − S_q, and no other.",
            **formula("one key too many", also=("one key too many in the mask",)),
        ),
        "top-left alignment": Mistake(
            "The mask is j ≤ i, aligned top-left. Only for S_q = S_k is that right: the last query must see "
            "the last key.",
            "Query i sees the keys j ≤ i + S_k − S_q.",
            **formula(
                "top-left",
                also=("top-left mask", ("top-left", "no guards"), ("top-left mask", "no guards")),
            ),
        ),
        "mask after l": Mistake(
            "Keys that should not count are missing from O's numerator, and are counted in its denominator "
            "and in LSE.",
            "A score of −inf, before the maximum and the exponential, hides a key from everything that "
            "follows.",
            **formula(
                "mask after l", also=(("mask after l", "no early end"), ("mask after l", "padded keys"))
            ),
        ),
        "only whole tiles are hidden": Mistake(
            "No tile is masked inside: a query sees every key of the tiles up to the diagonal, as if only "
            "the loop's end hid keys.",
            "Inside a tile, too, keys j > i + S_k − S_q have to be hidden from query i.",
            **formula("only whole tiles", also=(("only whole tiles", "padded keys"),)),
        ),
        "loop end without S_k − S_q": Mistake(
            "The tiles of keys end at the index of the block's last query, as if S_q were S_k: with more "
            "keys than queries, keys are left out that the block's queries may see.",
            "Which key is the last one that the block's last query sees?",
            **formula("loop end without the offset"),
        ),
        "loop end with the wrong sign": Mistake(
            "The tiles of keys end S_q − S_k after the end of the block; they should end S_k − S_q.",
            "The last key that query i sees is i + S_k − S_q.",
            **formula("end negated", also=(("end negated", "no guards"),)),
        ),
        "loop begins with the block's own number": Mistake(
            "The tiles of keys begin where the program's own block of queries does: the keys before it, "
            "which these queries see as well, are missing.",
            "Which key is the first one that query i sees?",
            **formula("starts at the own block"),
        ),
        "loop ends one tile early": Mistake(
            "The last tile of keys that a block's queries see is never visited: they miss the nearest of "
            "their keys.",
            "Which key is the last one that the block's last query sees?",
            **formula("loop one tile short"),
        ),
        "loop ends at the last key itself": Mistake(
            "The tile that begins with the last key that the block's queries see is left out, as if the loop "
            "ended at this key itself, and not after it.",
            "The tile that begins with the last key that is seen has to be visited, too.",
            **formula("ends at the last key", also=(("ends at the last key", "even at S_k"),)),
        ),
        "loop ends with the first query": Mistake(
            "The tiles of keys end with the last key that the block's first query sees: the queries after it "
            "miss keys where they see one more tile.",
            "Which key is the last one that the block's last query sees?",
            **formula("end of the first query", also=(("end of the first query", "no guards"),)),
        ),
        "mask by the place in the block": Mistake(
            "From the second block on, too many keys are hidden, as if the mask compared keys with a "
            "query's place in its block, not with the number of the query.",
            "Query i of the head sees the keys j ≤ i + S_k − S_q: which i does the first query of the "
            "second block have?",
            **formula(
                "mask by the place in the block", also=(("mask by the place in the block", "no guards"),)
            ),
        ),
        "LSE of empty rows is 0": Mistake(
            "Queries that see no key have LSE = 0. Their sum is empty, and its logarithm is −inf.",
            "The LSE of a query that sees no key is −inf.",
            **formula("lse of empty rows is 0"),
        ),
        "rows that see nothing are NaN": Mistake(
            "NaN appears where a query sees no key. In such a row two operations give NaN unless they are "
            "guarded: −inf − (−inf) in an exponent, and 0/0 in the division at the end.",
            "Where is −inf subtracted from −inf in such a row, or 0 divided by 0?",
            independent=True,
            **formula("no guards"),
        ),
        "a finite number for −inf": Mistake(
            "Values enter O that the query must not see, as they do if hidden scores are a large negative "
            "number instead of −inf. Where a row sees nothing in a tile, all its scores are that number: "
            "if it has seen nothing before, every p is exp(0) = 1.",
            "A hidden key has the score −inf itself.",
            **formula(
                USUAL_FILLER,
                also=(
                    *OTHER_FILLERS,
                    *((filler, "division guarded") for filler in FILLERS),
                ),
            ),
        ),
        "S_k − S_q with the wrong sign": Mistake(
            "The diagonal is shifted the wrong way: query i sees the keys j ≤ i + S_q − S_k, where S_k − "
            "S_q belongs. Only for S_q = S_k does it make no difference.",
            "The last query sees the last key: for i = S_q − 1 the mask must let j = S_k − 1 through.",
            **formula(
                "offset negated",
                also=(
                    ("offset negated", "end negated"),
                    ("offset negated", "no guards"),
                    ("offset negated", "end negated", "no guards"),
                ),
            ),
        ),
        "hidden scores set to 0": Mistake(
            "Hidden scores count as 0 and take part like any other: exp(0 − m) is a weight.",
            "What must not be seen gets the score −inf, before the maximum is taken.",
            **formula("hidden scores are 0"),
        ),
        "a tile on the diagonal is skipped": Mistake(
            "The first of the tiles that the diagonal crosses is left out.",
            "Every tile up to the last key that the block's last query sees has to be visited.",
            **formula("diagonal tile skipped", also=(("diagonal tile skipped", "no guards"),)),
        ),
    }
