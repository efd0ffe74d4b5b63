"""What lesson 04 asks about lessons 00 to 03, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "02, §5",
        "Why may the maximum be subtracted from a row of scores before its softmax is taken?",
        right(
            "a shift of all scores changes neither the shares nor their gradient",
            "The factor is in the numerator and in the denominator, so it cancels. Any number would do.",
        ),
        wrong(
            "because then the largest share is 1", "Then the largest *exponential* is 1, before the division."
        ),
        wrong(
            "the result changes, but only by rounding",
            "In exact arithmetic it does not change at all; and without the shift it may overflow.",
        ),
    ),
    Question(
        "03, §7",
        "Which of the backward pass's matrices are as large as `S_q × S_k`?",
        wrong("dQ, dK and dV", "These have the shapes of Q, K and V: the shape rule."),
        wrong("P alone", "Its gradient has its shape, and so has the gradient with respect to the scores."),
        right("P, dP and dS", "FlashAttention never writes any of the three to memory."),
    ),
    Question(
        "00, §6",
        "A program sums a row of 100 numbers in blocks of 32 lanes. How many iterations does its loop have, "
        "and how many lanes are idle in the last one?",
        wrong("three, and none", "Three blocks are 96 numbers: the last four would never be read."),
        right("four, and 28", "4 · 32 − 100 = 28. This lesson's kernel goes through its row like that."),
        wrong(
            "four, and 4",
            "4 elements are left for the last iteration. The other lanes of its block are the idle ones.",
        ),
    ),
)
