"""Lesson 00: `scaled_add` and `row_sum` by people who come from Python, NumPy and torch."""

from __future__ import annotations

from tests.corpus import edited, right, wrong

ADD = """
@triton.jit
def add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride_x, mask=mask).to(tl.float32)
    y = tl.load(y_ptr + offsets * stride_y, mask=mask).to(tl.float32)
    tl.store(z_ptr + offsets, a * x + y, mask=mask)


def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype)
    grid = (triton.cdiv(n, 128),)
    add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=128)
    return z
"""
SUM = """
@triton.jit
def sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0)
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * stride_row + j * stride_column, mask=j < columns, other=0.0).to(tl.float32)
    tl.store(s_ptr + i, tl.sum(x, axis=0))


def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype)
    sum_kernel[(rows,)](x, s, columns, *x.stride(), BLOCK=triton.next_power_of_2(columns))
    return s
"""
STORE = "tl.store(z_ptr + offsets, a * x + y, mask=mask)"
CALL = "add_kernel[grid](a, x, y, z, n,"

right("scaled_add", "a mask with `and`, which Triton takes lane by lane")(
    edited(ADD, ("mask = offsets < n", "mask = offsets >= 0 and offsets < n"))
)
right("scaled_add", "a mask with `not`")(edited(ADD, ("mask = offsets < n", "mask = not (offsets >= n)")))
right("row_sum", "Python's max between tiles, of the positive and the negative part")(
    edited(SUM, ("tl.sum(x, axis=0)", "tl.sum(max(x, 0.0), axis=0) + tl.sum(min(x, 0.0), axis=0)"))
)


def habit(base: str, says: str, *changes: tuple[str, str]) -> None:
    wrong("scaled_add" if base is ADD else "row_sum", says, "crashed")(edited(base, *changes))


habit(ADD, "A pointer takes no index: tl.store writes.", (STORE, "z_ptr[offsets] = a * x + y"))
habit(
    ADD,
    "A pointer takes no slice: tl.load reads.",
    ("tl.load(y_ptr + offsets * stride_y, mask=mask)", "y_ptr[:n]"),
)
habit(SUM, "torch works in the launcher, tl.sum in the kernel.", ("tl.sum(x, axis=0)", "torch.sum(x)"))
habit(SUM, "Python's sum wants a list, and a tile is none.", ("tl.sum(x, axis=0)", "sum(x)"))
habit(SUM, "tl.dot multiplies matrices, not vectors.", ("tl.sum(x, axis=0)", "tl.dot(x, x)"))
habit(
    SUM, "A tile's size is a constant, and columns is not.", ("tl.arange(0, BLOCK)", "tl.arange(0, columns)")
)
habit(SUM, "BLOCK must be a tl.constexpr.", ("BLOCK: tl.constexpr", "BLOCK"))
habit(ADD, "A tensor as an argument is an address.", (CALL, "add_kernel[grid](torch.tensor(a), x, y, z, n,"))
habit(ADD, "A kernel is launched on a grid, not called.", (CALL, "add_kernel(a, x, y, z, n,"))
habit(ADD, "x.shape is a tuple; n is x.numel().", (CALL, "add_kernel[grid](a, x, y, z, x.shape,"))
habit(ADD, "The grid is a tuple.", ("grid = (triton.cdiv(n, 128),)", "grid = triton.cdiv(n, 128)"))
wrong("scaled_add", "y is subtracted.", "y is subtracted")(
    edited(ADD, (STORE, "tl.store(z_ptr + offsets, a * x - y, mask=mask)"), title="a * x - y")
)
wrong("scaled_add", "a is added to x, where it is a factor.", "a is added")(
    edited(ADD, (STORE, "tl.store(z_ptr + offsets, a + x + y, mask=mask)"), title="a + x + y")
)
right("scaled_add", "no conversion: a is an fp32 number, so a * x is fp32")(
    edited(
        ADD,
        ("stride_x, mask=mask).to(tl.float32)", "stride_x, mask=mask)"),
        ("stride_y, mask=mask).to(tl.float32)", "stride_y, mask=mask)"),
    )
)
