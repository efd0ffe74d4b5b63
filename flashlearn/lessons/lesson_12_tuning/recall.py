"""What lesson 12 asks about lessons 05, 06 and 11, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "05, §10",
        "A program of 4 warps has 160 registers per thread. A multiprocessor has 65,536 registers. How "
        "many such programs does it hold, as far as registers go?",
        wrong("2", "160 · 128 is 20,480 registers for a program. How often is that in 65,536?"),
        right("3", "160 registers for 128 threads are 20,480, and three times that is 61,440."),
        wrong("12", "The registers are each thread's own, and a warp has 32 threads."),
    ),
    Question(
        "06, §2",
        "In the online softmax, which numbers may stand in for the running maximum m without changing O "
        "and LSE, in exact arithmetic?",
        wrong("only the maximum itself", "m cancels between the numerator and the sum, whatever it is."),
        wrong(
            "any number above all scores", "It need not even be above them; what would go wrong is overflow."
        ),
        right(
            "any number at all", "It cancels. In floating point it decides what overflows and what vanishes."
        ),
    ),
    Question(
        "11, §1",
        "One pass over the tiles makes five products where two passes make seven. What does it pay for that?",
        right(
            "dQ is added up in memory",
            "Each program adds its share of dQ to what others have added: traffic, and an order left to "
            "chance.",
        ),
        wrong("P is stored", "P is rebuilt from LSE in both."),
        wrong("delta is computed twice", "Both compute it once, beforehand."),
    ),
)
