"""What lesson 01 asks about lesson 00, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "00, §4",
        "A vector of 100 elements, blocks of 32. How many programs does it take, and how many lanes of the "
        "last one have no element?",
        wrong("3 programs, no idle lane", "Three blocks end at element 95. Who writes the last four?"),
        right("4 programs, 28 idle lanes", "100 / 32 is rounded up, and 4 · 32 − 100 = 28."),
        wrong("4 programs, 4 idle lanes", "Four is how many elements the last program *has*."),
        wrong(
            "100 programs, no idle lane",
            "That is one program for each element. A program works on a whole block.",
        ),
    ),
    Question(
        "00, §6",
        "A kernel takes the *maximum* of a row of 37 numbers in a block of 64. What must the 27 idle lanes "
        "hold?",
        wrong("0", "Then a row of negative numbers has the maximum 0, which is not among them."),
        wrong(
            "nothing in particular: they are masked",
            "The mask keeps them from reading memory. The reduction still looks at them.",
        ),
        right("−∞", "It loses against every number, so it changes no maximum: the neutral element."),
    ),
    Question(
        "00, §6",
        "`x` is a block of shape [2, 4]. What is the shape of `tl.sum(x, axis=0)`?",
        right("[4]", "The axis that you name is the one that disappears."),
        wrong("[2]", "That is what is left of the other axis."),
        wrong("a single number", "Only a block with one dimension sums to a single number along axis 0."),
    ),
)
