"""What lesson 15 asks about earlier lessons, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "03, §6",
        "The scores pass through a function before the softmax: s = f(x), x = alpha q · k. The backward pass "
        "has computed dS. What is dQ?",
        wrong("alpha dS K", "dS is the derivative by s. What is the derivative by x?"),
        right("alpha (dS ∘ f′(x)) K", "The chain rule, element by element; the rest stays as it was."),
        wrong(
            "alpha f′(dS) K",
            "f′ is taken where f was, at x; dS is only multiplied by it.",
        ),
    ),
    Question(
        "08, §5",
        "A kernel owns a block of keys and scans queries. Which queries does it have to visit if the mask is "
        "causal?",
        wrong(
            "those before the block",
            "Key j is seen by queries at its own place and after it.",
        ),
        wrong("all of them; the mask hides the rest", "That is right, and up to twice the work."),
        right(
            "those from the block's first key on, in the keys' own counting",
            "Query i is at the place of key i + S_k − S_q, so the first is i = j − (S_k − S_q).",
        ),
    ),
    Question(
        "12, §15",
        "Four heads of Q share one head of K. What is dK of that head?",
        right("the sum of four shares", "A tensor that is used four times gets the sum of four gradients."),
        wrong("the mean of four shares", "Nothing divides the loss by the number of heads."),
        wrong(
            "four gradients, one for each head of Q",
            "dK has K's shape, and K has one head for the four.",
        ),
    ),
)  # fmt: skip
