"""What lesson 06 asks about lessons 00, 04 and 05, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "00, §6",
        "A row of 5 scores is in a tile of 8 lanes, and its softmax is wanted. What must the other "
        "three lanes hold?",
        wrong("0", "As scores, zeros are like any others: exp(0 − m) goes into the sum."),
        wrong("the last score once more", "Then it counts four times."),
        right("−∞", "It is never the maximum, and its exponential is 0."),
    ),
    Question(
        "04, §4",
        "Two parts of a row are to be merged: m = 2 and l = 3 in the one, m = 5 and l = 1 in the other. "
        "What is l of the whole row, relative to m = 5?",
        wrong("3 + 1", "Each l counts in units of its own maximum, and these differ."),
        right("3 · exp(−3) + 1", "The part with the smaller maximum is brought to the larger one."),
        wrong("3 · exp(3) + 1", "A part whose maximum was lower would now count for more."),
    ),
    Question(
        "05, §6",
        "The programs of a kernel request 64 MiB in all, and 4 MiB if each byte is counted once. How much "
        "does HBM move?",
        right(
            "between 4 and 64 MiB", "How much of the rest the caches serve, no count of requests can tell."
        ),
        wrong("64 MiB", "Not if a cache has what another program has just asked for."),
        wrong("4 MiB", "Only if every byte stays in a cache until its last use."),
    ),
)
