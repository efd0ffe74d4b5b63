"""What lesson 11 asks about lessons 07 and 08, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "08, §2",
        "Two programs add their shares to one row of dQ with load, add, store. Both load before either "
        "stores. What is in memory afterwards?",
        wrong(
            "both shares, in one order or the other",
            "That would be the case if one program ran after the other.",
        ),
        right(
            "one of the two shares is missing",
            "The program that stored last had loaded a sum without the other share.",
        ),
        wrong(
            "the sum, rounded differently", "Rounding changes the last bits. Count what each of them stored."
        ),
    ),
    Question(
        "08, §4",
        "A kernel owns keys and scans queries. Which LSE must a padded query have so that it adds nothing to "
        "dV, whatever finite number `do` has there?",
        right("+∞", "exp(s − ∞) is 0, and 0 times a finite number adds nothing."),
        wrong("0", "Then P is exp(s), and only zeros in `do` keep it out of dV."),
        wrong("−∞", "Then P is infinite, and infinity times zero is NaN."),
    ),
    Question(
        "07, §4",
        "And a kernel that owns queries and scans keys: when does a padded key of zeros make dQ NaN?",
        wrong("always", "Its row of K is zero, and zero times a finite number adds nothing."),
        wrong("never, its row of K is zero", "What is zero times infinity?"),
        right("where LSE is so low that exp(0 − LSE) is infinite", "Infinity times zero is NaN."),
    ),
)
