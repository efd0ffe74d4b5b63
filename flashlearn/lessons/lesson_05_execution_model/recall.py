"""What lesson 05 asks about lessons 00 to 04, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "00, §4",
        "A vector of 10 numbers is processed in blocks of 4. How many programs are launched, and what "
        "becomes of the lanes that are left over?",
        wrong("2 programs; two numbers are left over", "No program would own the last two numbers."),
        right("3 programs; a mask hides two lanes", "Rounded up, and the mask guards the ragged end."),
        wrong("3 programs; the last has a block of 2", "All programs of a launch have the same block."),
    ),
    Question(
        "04, §3",
        "The scan meets a tile with a larger maximum. What happens to the sum so far?",
        wrong("it is kept: what was summed is summed", "It is counted in units of the old maximum."),
        wrong("it is computed again from the row's beginning", "Then the row would be read twice."),
        right(
            "it is multiplied by `exp(m − m_new)`",
            "A change of unit, from feet to metres, and nothing is read again.",
        ),
    ),
    Question(
        "04, §6",
        "What does a program need to compute a tile of P again?",
        right(
            "the tile of S and one LSE for each of its rows",
            "Hence any tile can be rebuilt by any program, in any order: one that owns keys, for instance.",
        ),
        wrong("the whole rows of S", "With the LSE at hand, P needs no maximum and no sum."),
        wrong("the tile of S, its maximum and its sum", "The tile's own maximum and sum are not the row's."),
    ),
)
