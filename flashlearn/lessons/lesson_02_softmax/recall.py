"""What lesson 02 asks about lessons 00 and 01, before it begins."""

from __future__ import annotations

from flashlearn.lessons.shared.question import Question, right, wrong

QUESTIONS = (
    Question(
        "01, §2",
        "A function takes 4 numbers to 3. What is the shape of its Jacobian, and what does row 2 hold?",
        right("3 × 4; the derivatives of output 2", "A row for every output, a column for every input."),
        wrong(
            "4 × 3; the derivatives with respect to input 2",
            "Rows belong to outputs and columns to inputs, and here it is the other way round.",
        ),
        wrong(
            "3 × 4; the derivatives with respect to input 2",
            "The shape fits. But inputs are counted along a row.",
        ),
    ),
    Question(
        "01, §2",
        "`x` has 5 numbers and goes through a function to the loss L. What is the shape of `dx`?",
        wrong("5 × 5", "That is the shape of a Jacobian from 5 numbers to 5. L is *one* number."),
        wrong("a single number, like L", "L has a derivative for each of the 5 numbers of x."),
        right("5, the shape of x", "dX always has the shape of X: one derivative of L for each entry."),
    ),
    Question(
        "01, §7",
        "In the forward pass a bias `b` of shape [N] is added to every one of M rows. What is `db`, given "
        "`dC`?",
        wrong("the mean of dC over its M rows", "The forward pass does not divide by M."),
        wrong("dC itself", "That has the shape [M, N], and db has the shape of b."),
        wrong("the sum of dC over its N columns", "That leaves M numbers. How many does b have?"),
        right(
            "the sum of dC over its M rows",
            "b was used M times, and M gradients add: the gradient of a broadcast is a sum.",
        ),
    ),
)
