"""What lesson 12 asks about lessons 05, 06 and 11, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "05, §10",
        "A program of 4 warps has 160 registers per thread. A multiprocessor has 65,536 registers. How "
        "many such programs fit, as far as registers are concerned?",
        wrong("2", "160 · 128 is 20,480 registers for a program. How often does that fit into 65,536?"),
        right("3", "160 registers for 128 threads are 20,480, and three times that is 61,440."),
        wrong("12", "160 is the number for each thread, and a warp has 32 threads."),
    ),
    Question(
        "06, §2",
        "In the online softmax, which numbers may replace the running maximum m without changing O "
        "and LSE, in exact arithmetic?",
        wrong("only the maximum itself", "m cancels between the numerator and the sum, whatever it is."),
        wrong("any number above all scores", "It need not even be above them: that only prevents overflow."),
        right(
            "any number at all", "It cancels. In floating point it decides what overflows and what becomes 0."
        ),
    ),
    Question(
        "11, §1",
        "One pass over the tiles needs five products, two passes need seven. What is the cost of one pass?",
        right(
            "dQ is added up in memory",
            "Each program adds its share of dQ to what others have added: that costs traffic, and the order "
            "is not fixed.",
        ),
        wrong("P is stored", "P is recomputed from LSE in both."),
        wrong("delta is computed twice", "Both compute it once, beforehand."),
    ),
)
