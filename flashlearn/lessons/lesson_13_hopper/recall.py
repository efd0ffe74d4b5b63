"""What lesson 13 asks about lessons 05, 06 and 12, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "05, §2",
        "A load from HBM takes 340 ns, and HBM delivers 3.35 TB/s. How many bytes have to be in flight at "
        "any moment to keep it busy all the time?",
        wrong(
            "a cache line for each SM", "The latency is long: how many bytes could HBM deliver in that time?"
        ),
        wrong(
            "it depends on the arithmetic",
            "The question is only about memory: think of a pipe that has to be full.",
        ),
        right("about 1.1 MB", "What is in a pipe is bandwidth times latency."),
    ),
    Question(
        "12, §5",
        "A block of 64 rows is fetched through a descriptor, and the tensor ends after 50 of them. What are "
        "the other 14 rows of the tile?",
        right("zeros", "The descriptor knows the tensor's shape: what lies beyond is read as zero."),
        wrong("the next head's rows", "That is what pointers without a mask would bring."),
        wrong("an error", "Only a pointer can leave a tensor; a descriptor has its shape."),
    ),
    Question(
        "06, §2",
        "In one step of a flash attention kernel there are two products and a softmax. Which of these must "
        "wait for which, within the step?",
        wrong("nothing: they take different tiles", "P is computed from S. What is S computed from?"),
        right(
            "the softmax for Q Kᵀ, and P V for the softmax",
            "Because of that chain the tensor cores are idle, unless another tile's product is in flight.",
        ),
        wrong("both products for the softmax", "One of the two comes before it."),
    ),
)
