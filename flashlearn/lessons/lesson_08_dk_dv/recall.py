"""What lesson 08 asks about lessons 03, 05 and 07, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "03, §6",
        "S = alpha Q Kᵀ and O = P V. Which of the three gradients carry a factor alpha of their own, "
        "besides the one inside S?",
        right("dQ and dK", "Both go back through S = alpha Q Kᵀ. dV does not."),
        wrong("all three", "O = P V has no alpha, and dV goes back through nothing else."),
        wrong("dQ alone", "K is in the same product as Q."),
    ),
    Question(
        "05, §2",
        "A program of 4 warps keeps an accumulator of 128 × 128 numbers in fp32. How many registers of each "
        "thread does that take?",
        wrong("32", "That would be 4 096 numbers for 128 threads."),
        right("128", "16 384 numbers, distributed over 128 threads."),
        wrong(
            "512", "That is what one warp would need for each of its threads, and a thread has 255 at most."
        ),
    ),
    Question(
        "07, §4",
        "The dQ kernel without a mask on its scores: what do padded keys, loaded as zeros, add to dQ?",
        wrong(
            "a share of delta in each row", "That is in dS. What is dS multiplied by, in the last product?"
        ),
        wrong("always NaN", "Only where P is infinite, in rows with a very low LSE."),
        right(
            "nothing, as long as P is finite", "Their row of K is zero. Infinity times zero is the exception."
        ),
    ),
)
