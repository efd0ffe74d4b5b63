"""Lesson 05: answers of which something false was once said, or nothing could be said."""

from __future__ import annotations

from tests.corpus import edited, wrong
from tests.lessons.lesson_05_execution_model.answers.tiled_matmul import POINTERS

for dtype in ("tl.float16", "tl.bfloat16"):
    wrong(
        "tiled_matmul",
        "The sum is carried in half precision and rounded at every step; keep it in fp32 until the end.",
        "accumulator in half precision",
        "precision",
    )(
        edited(
            POINTERS,
            ("dtype=tl.float32)", f"dtype={dtype})"),
            (
                'tl.dot(a, b, accumulator, input_precision="ieee")',
                f'(accumulator + tl.dot(a, b, input_precision="ieee")).to({dtype})',
            ),
            title=f"the sum in {dtype.removeprefix('tl.')}, converted at every step",
        )
    )
