"""What lesson 09 asks about lessons 04, 06 and 08, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "04, §6",
        "What does the backward pass need, besides Q and K, to rebuild P?",
        wrong("P itself", "It is as large as S. What replaces a whole row of it?"),
        right("one number per query, the LSE", "P = exp(S − LSE), tile by tile."),
        wrong("the maximum of each row", "Without the sum of the exponentials nothing is normalised."),
    ),
    Question(
        "06, §11",
        "One query comes with a cache of 1000 keys, under a causal mask aligned bottom-right. How many keys "
        "does it see?",
        wrong("1", "That would be top-left alignment, where the first query sees the first key."),
        wrong("999", "The newest token's own key is in the cache, and a query sees itself."),
        right("1000", "The last query sees every key, and here it is the only one."),
    ),
    Question(
        "08, §2",
        "Two programs add to the same address by load, add, store. What may happen on a GPU?",
        right("a share is lost", "Both load before either stores, and the second store wins."),
        wrong(
            "only the last bits change",
            "That is true of atomic additions, whose order is not fixed. These are not atomic.",
        ),
        wrong("the launch fails", "Nothing checks for that: every single access is legal."),
    ),
)
