"""What lesson 10 asks about lessons 06, 08 and 09, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "06, §12",
        "A causal forward kernel is tested with 128 queries and 128 keys. Which of these faults does the "
        "test not detect?",
        wrong(
            "hidden keys are masked after l is summed",
            "Then l contains hidden keys for every query but the last.",
        ),
        right("the mask is aligned top-left", "With as many queries as keys, both alignments are the same."),
        wrong("alpha is forgotten", "Unless alpha is 1, all scores change."),
    ),
    Question(
        "08, §4",
        "A kernel's dV is right and its dK is wrong. Where can its fault be?",
        wrong("in P", "dV = Pᵀ dO would be wrong, too."),
        wrong("in the loop's bounds", "Both sums go over the same tiles."),
        right("in dS, or in what comes after it", "dV is computed without dS."),
    ),
    Question(
        "09, §4",
        "How far off may a kernel in half precision be?",
        wrong("by 5e-3, the usual tolerance", "Whether that is little depends on how large the answer is."),
        wrong(
            "by as much as a finite difference is", "In half precision that is noise, at nearly every step."
        ),
        right(
            "two or three times as far as torch at the same precision",
            "Two right answers that round in different places are the standard of comparison.",
        ),
    ),
)
