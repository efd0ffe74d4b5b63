"""What lesson 04 asks about lessons 00 to 03, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "02, §5",
        "Why may the maximum be subtracted from a row of scores before its softmax is taken?",
        right(
            "a shift of all scores changes neither the shares nor their gradient",
            "The factor is above and below the fraction line, so it cancels. Any number would do.",
        ),
        wrong(
            "because the largest share is 1 then", "The largest *exponential* is 1 then, before the division."
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
        wrong("P alone", "Its gradient has its shape, and so has the gradient by the scores."),
        right("P, dP and dS", "Three of a size that FlashAttention never writes to memory."),
    ),
    Question(
        "00, §6",
        "One program sums a row of 100 numbers in blocks of 32 lanes. How often does its loop turn, and how "
        "many lanes are idle at the end?",
        wrong("three times, and none", "Three blocks are 96 numbers: the last four would never be read."),
        right("four times, and 28", "4 · 32 − 100 = 28. This lesson's kernel walks along its row like that."),
        wrong(
            "four times, and 4",
            "4 is what is left for the last turn. The other lanes of its block are the idle ones.",
        ),
    ),
)
