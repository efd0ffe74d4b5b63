"""What lesson 07 asks about lessons 03, 04 and 06, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "03, §3",
        "dS = P ∘ (dP − delta), with one delta for each row. What do the numbers of a row of dS sum to?",
        wrong("delta", "delta is the mean of dP under P, and it has been subtracted from every dP."),
        wrong("1", "That is a row of P."),
        right("0", "Deviations from a mean, weighted with the same P, cancel."),
    ),
    Question(
        "04, §6",
        "A score is 2, and the LSE of its row is 3. What is its probability?",
        right("exp(−1)", "The exponential of the difference, and nothing is left to divide by."),
        wrong("exp(−1) / l", "LSE is m + log l: it has divided by l already."),
        wrong("2/3", "LSE is a logarithm. Where has the exponential gone?"),
    ),
    Question(
        "06, §4",
        "In the forward pass the last tile of keys is not full, and its scores are not masked. What happens "
        "to O and to LSE?",
        wrong(
            "nothing, since V was loaded with zeros there", "The zeros keep acc right. What else is summed?"
        ),
        right("O is too small, LSE too large", "The padded keys count in l, but add nothing to acc."),
        wrong("O is right, LSE too large", "LSE comes from l, and O is divided by the same l."),
    ),
)
