"""What lesson 03 asks about lessons 00 to 02, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "02, §7",
        "`ds = p ∘ (dp − ⟨p, dp⟩)`. What happens to `ds` if 5 is added to every entry of `dp`?",
        wrong(
            "5 is added to every entry of ds", "The bracket has a second term, and it feels the 5 as well."
        ),
        wrong("ds becomes 5 p larger", "You moved dp and left its mean where it was."),
        right("nothing", "The mean under p grows by 5 too, and what counts is the distance from it."),
    ),
    Question(
        "01, §7",
        "A matrix is used in four different ways in the forward pass. What is its gradient?",
        right("the sum of four gradients", "Used k times, k gradients add: this lesson builds on that."),
        wrong("the mean of four gradients", "Nothing divides by four: each use moves the loss in full."),
        wrong(
            "that of the last use",
            "That would be a lost update. The mathematics loses nothing.",
        ),
    ),
    Question(
        "00, §6",
        "A row of 6 scores is in a block of 8 lanes, and you want its maximum. What must the other two "
        "lanes hold?",
        wrong("0", "And if all six scores are negative?"),
        right("−∞", "It loses against every number, and its exponential adds nothing either."),
        wrong(
            "nothing: the mask leaves them out", "A mask hides them from memory. The maximum sees all lanes."
        ),
    ),
)
