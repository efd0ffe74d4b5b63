"""What lesson 14 asks about earlier lessons, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "12, §3",
        "A tuned kernel computes 2^(c x − m). What would change in O if it computed 2^(c x − m + 8) instead, "
        "everywhere, in fp32?",
        wrong("O would be 256 times as large", "What is O divided by, and what is in that sum?"),
        right("nothing", "The factor is in the accumulator and in the row's sum, and cancels."),
        wrong("it would overflow", "fp32 reaches 2¹²⁷, and c x − m is at most 0."),
    ),
    Question(
        "04, §3",
        "The maximum changes from one tile to the next. What happens to the accumulator?",
        wrong("nothing: it is divided by l at the end", "l is in the new maximum's unit by then."),
        wrong("it starts again from zero", "The result of the previous tiles would be lost."),
        right(
            "it is multiplied by one factor per row",
            "Its unit was e^m of the old maximum; the factor is the old unit over the new one.",
        ),
    ),
    Question(
        "05, §2",
        "A product of two matrices sums over k. An operand is stored so that neighbours along k are "
        "neighbours in memory. Which operands are stored in this way, if the tensors are row-major?",
        right("Q and K in Q Kᵀ", "Both have D as their last dimension, and the sum runs over D."),
        wrong("P and V in P V", "P is; V has D as its last dimension, and this sum runs over keys."),
        wrong("both products", "In P V the sum runs over keys. In which direction are V's neighbours?"),
    ),
)  # fmt: skip
