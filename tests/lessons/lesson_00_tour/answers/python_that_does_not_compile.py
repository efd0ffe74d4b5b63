"""Lesson 00: answers with the right numbers that no GPU would run: Python that triton does not compile."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong

ROWS = """
FACTOR = 1.0
START = tl.constexpr(0.0)


def added(total, part):
    return total + part


@triton.jit
def sum_rows(x_ptr, out_ptr, width, row_stride, column_stride, BLOCK: tl.constexpr):
    row = x_ptr + tl.program_id(0) * row_stride
    total = tl.zeros((BLOCK,), dtype=tl.float32)
    for start in range(0, width, BLOCK):
        columns = start + tl.arange(0, BLOCK)
        part = tl.load(row + columns * column_stride, mask=columns < width, other=0.0)
        total += part.to(tl.float32)
    tl.store(out_ptr + tl.program_id(0), tl.sum(total, axis=0) + START)


def row_sum(x):
    out = torch.empty(x.shape[0], dtype=x.dtype)
    sum_rows[(x.shape[0],)](x, out, x.shape[1], x.stride(0), x.stride(1), BLOCK=64)
    return out
"""

ADD = "        total += part.to(tl.float32)\n"
START = "    total = tl.zeros((BLOCK,), dtype=tl.float32)\n"
LOAD = "        part = tl.load("

right("row_sum", "a global that is a constexpr")(written(ROWS))


NOT_COMPILED: tuple[tuple[str, tuple[tuple[str, str], ...]], ...] = (
    (
        "There is no `break` in a compiled loop.",
        ((ADD, f"{ADD}        if start + BLOCK >= width:\n            break\n"),),
    ),
    (
        "There is no `continue` in a compiled loop.",
        ((LOAD, f"        if start >= width:\n            continue\n{LOAD}"),),
    ),
    (
        "There is no `try` in a compiled kernel.",
        ((START, f"    try:\n    {START}    except ValueError:\n        pass\n"),),
    ),
    (
        "A kernel has no lambda.",
        ((ADD, "        add = lambda a: a + part.to(tl.float32)\n        total = add(total)\n"),),
    ),
    (
        "A kernel has no dictionaries.",
        ((ADD, '        held = {"part": part}\n        total += held["part"].to(tl.float32)\n'),),
    ),
    ("A kernel has no walrus.", ((ADD, "        total += (wide := part.to(tl.float32))\n"),)),
    (
        "A kernel cannot loop over a list: a compiled loop counts.",
        (
            (
                ADD,
                "        for half in [0.5, 0.5]:\n            total += part.to(tl.float32) * half\n",
            ),
        ),
    ),
    ("The global is no constexpr.", ((ADD, "        total += part.to(tl.float32) * FACTOR\n"),)),
    ("The helper lacks @triton.jit.", ((ADD, "        total = added(total, part.to(tl.float32))\n"),)),
    (
        "torch.tensor runs in Python.",
        ((ADD, "        total += part.to(tl.float32) * torch.tensor(1.0).item()\n"),),
    ),
    (
        "`total` exists only after the loop was entered: give it a value before.",
        (
            (START, ""),
            (
                ADD,
                f"        if start == 0:\n            total = part.to(tl.float32)\n        else:\n    {ADD}",
            ),
        ),
    ),
    ("The number of warps is a power of two.", (("BLOCK=64)", "BLOCK=64, num_warps=3)"),)),
    (
        "The list of strides cannot be an argument.",
        (
            ("width, row_stride, column_stride, BLOCK: tl", "width, strides, BLOCK: tl"),
            ("* row_stride", "* strides[0]"),
            ("* column_stride", "* strides[1]"),
            ("x.stride(0), x.stride(1)", "[x.stride(0), x.stride(1)]"),
        ),
    ),
)
"""What a teacher would say, and what is exchanged in the text above."""

for says, changes in NOT_COMPILED:
    wrong("row_sum", says, "crashed")(edited(ROWS, *changes, title=says))
