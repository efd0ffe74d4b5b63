"""Answers to lesson 00, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "program_ids",
    "In the store, `where <= n` is one too many: valid places are 0 … n-1, so `<`. For n = 10 and blocks "
    "of 4 the last program also writes ids[10], behind the end of the vector.",
    "out_of_bounds",
)(
    written(
        """
@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    me = tl.program_id(0)
    where = me * BLOCK + tl.arange(0, BLOCK)
    tl.store(ids_ptr + where, me, where <= n)

def program_ids(x, block):
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)  # n / block rounded up: the ragged tail needs a program too
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
""",
        title="mask lets the place n through",
    )
)

wrong(
    "program_ids",
    "`tl.arange(1, BLOCK + 1)` shifts every block by one: element 0 is never written, and element BLOCK "
    "gets the number of the program before it (with n = 10, block = 4: ids[4] is 0 and not 1). Lanes "
    "count from 0.",
    "lanes counted from one",
)(
    written(
        """
@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    number = tl.program_id(axis=0)
    first = number * BLOCK
    elements = first + tl.arange(1, BLOCK + 1)
    value = tl.zeros([BLOCK], dtype=tl.int32) + number
    tl.store(ids_ptr + elements, value, mask=elements < n)

def program_ids(x, block):
    n = x.numel()
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    grid = (triton.cdiv(n, block),)
    program_ids_kernel[grid](ids, n, BLOCK=block)
    return ids
""",
        title="lanes counted from one",
    )
)

wrong(
    "program_ids",
    "The grid `max(n // block, 1)` rounds down, so the ragged tail gets no program: for n = 10, block = "
    "4 the elements 8 and 9 are never written. Use triton.cdiv.",
    "tail without a program",
)(
    written(
        """
@triton.jit
def program_ids_kernel(ids_ptr, n, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    offs = tl.arange(0, BLOCK) + BLOCK * pid
    inside = offs < n
    tl.store(ids_ptr + offs, offs // BLOCK, mask=inside)

def program_ids(x, block):
    n = x.shape[0]
    ids = torch.empty(n, dtype=torch.int32, device=x.device)
    blocks = max(n // block, 1)
    program_ids_kernel[(blocks,)](ids, n, BLOCK=block)
    return ids
""",
        title="grid rounded down but at least one",
    )
)

wrong(
    "row_sum",
    "The address is `row * stride_row + cols`; the columns need `* stride_column`. It is right only "
    "where neighbouring columns lie side by side: for x.T or x[:, ::2] other elements are summed.",
    "out_of_bounds",
)(
    written(
        """
@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    row_ptr = x_ptr + row * stride_row
    vals = tl.load(row_ptr + cols, mask=cols < columns, other=0.0)
    vals = vals.to(tl.float32)
    tl.store(s_ptr + row, tl.sum(vals, axis=0))

def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)  # the whole row in one block
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
""",
        title="column stride left out of the address",
    )
)

wrong(
    "row_sum",
    "`tl.sum(v, axis=0).to(tl.float32)` converts too late: tl.sum adds in the type it is given, so an "
    "fp16 or bf16 row is added in half precision. Convert `v` before the sum (a row of 4096 ones in fp16 "
    "or 1000 in bf16 shows it).",
    "summed in half precision",
)(
    written(
        """
@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    ok = j < columns
    v = tl.load(x_ptr + i * stride_row + j * stride_column, mask=ok, other=0)
    total = tl.sum(v, axis=0).to(tl.float32)  # fp32 sum
    tl.store(s_ptr + i, total)

def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
""",
        title="converted to fp32 only after the sum",
    )
)

wrong(
    "row_sum",
    "The load has a mask but no `other=`, and then everything is summed: the idle lanes hold nothing in "
    "particular. If columns is no power of two (37, say) the sum is undefined; add other=0.0.",
    "masked load without other",
)(
    written(
        """
@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    addresses = x_ptr + (pid * stride_row + lanes * stride_column)
    x = tl.load(addresses, mask=(lanes < columns)).to(tl.float32)
    tl.store(s_ptr + pid, tl.sum(x, 0))

def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
""",
        title="idle lanes left without a filler",
    )
)

wrong(
    "row_sum",
    "The launcher fixes BLOCK = 1024 and the kernel has no loop: of a row with more than 1024 columns "
    "only the first 1024 are summed. BLOCK has to be at least `columns`, or the kernel must walk.",
    "only the first tile",
)(
    written(
        """
@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + r * stride_row + c * stride_column, mask=c < columns, other=0.0)
    s = tl.sum(x.to(tl.float32), axis=0)
    tl.store(s_ptr + r, s)

def row_sum(x):
    rows, columns = x.shape
    s = torch.empty((rows,), dtype=x.dtype, device=x.device)
    row_sum_kernel[(rows,)](x, s, columns, *x.stride(), BLOCK=1024)
    return s
""",
        title="block of 1024 whatever the row",
    )
)

wrong(
    "row_sum",
    "Two mistakes. The address multiplies the row by stride_column and the columns by stride_row, so "
    "columns are walked (wrong for any matrix that is not square and symmetric). And the sum is taken in "
    "the dtype of x: fp16 and bf16 rows lose digits, `.to(tl.float32)` is missing.",
    "strides swapped",
    "strides swapped + summed in half precision",
)(
    written(
        """
@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    p = x_ptr + j * stride_row + i * stride_column
    block = tl.load(p, mask=j < columns, other=0.0)
    acc = tl.sum(block, axis=0)
    tl.store(s_ptr + i, acc)

def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    BLOCK = triton.next_power_of_2(columns)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=BLOCK)
    return s
""",
        title="strides exchanged and summed in half",
    )
)

right("row_sum", "walk along the row in blocks of 64 with a running vector")(
    written("""
@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    running = tl.zeros((BLOCK,), dtype=tl.float32)
    start = 0
    while start < columns:
        j = start + lanes
        piece = tl.load(x_ptr + i * stride_row + j * stride_column, mask=j < columns, other=0.0)
        running += piece.to(tl.float32)
        start += BLOCK
    tl.store(s_ptr + i, tl.sum(running, axis=0))

def row_sum(x):
    rows, columns = x.shape
    s = torch.empty(rows, dtype=x.dtype, device=x.device)
    row_sum_kernel[(rows,)](x, s, columns, x.stride(0), x.stride(1), BLOCK=64)
    return s
""")
)

wrong(
    "scaled_add",
    "The second load uses `step`, which is x's stride, for y as well; stride_y is never used. Wrong as "
    "soon as only one of the two is strided, e.g. x = v[::2] with a contiguous y (reads past its end).",
    "out_of_bounds",
)(
    written(
        """
@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    keep = i < n
    step = i * stride_x
    xi = tl.load(x_ptr + step, mask=keep, other=0.0).to(tl.float32)
    yi = tl.load(y_ptr + step, mask=keep, other=0.0).to(tl.float32)
    tl.store(z_ptr + i, a * xi + yi, mask=keep)

def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(triton.cdiv(n, 512),)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=512)
    return z
""",
        title="y read with the stride of x",
    )
)

wrong(
    "scaled_add",
    "The load of y has no mask: in the last block it reads past the end of y whenever n is no multiple "
    "of 256. Every load needs the mask, not only the first one and the store.",
    "no mask",
)(
    written(
        """
@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    pid = tl.program_id(0).to(tl.int64)
    offsets = pid * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride_x, mask=mask)
    y = tl.load(y_ptr + offsets * stride_y)
    z = a * x.to(tl.float32) + y.to(tl.float32)
    tl.store(z_ptr + offsets, z, mask=mask)

def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    BLOCK = 256
    grid = (triton.cdiv(n, BLOCK),)
    scaled_add_kernel[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
""",
        title="second load without its mask",
    )
)

wrong(
    "scaled_add",
    "The helper computes `alpha * u + v` and is called as `axpy(a, yv, xv)`: that is a·y + x. Right only "
    "for a = 1 or x = y; the arguments must be xv, yv.",
    "a scales y",
)(
    written(
        """
@triton.jit
def axpy(alpha, u, v):
    return alpha * u.to(tl.float32) + v.to(tl.float32)

@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    idx = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    m = idx < n
    yv = tl.load(y_ptr + idx * stride_y, mask=m, other=0.0)
    xv = tl.load(x_ptr + idx * stride_x, mask=m, other=0.0)
    tl.store(z_ptr + idx, axpy(a, yv, xv), mask=m)

def scaled_add(a, x, y):
    n = x.shape[0]
    z = torch.empty(n, device=x.device, dtype=x.dtype)
    BLOCK = 1024
    scaled_add_kernel[((n + BLOCK - 1) // BLOCK,)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
""",
        title="helper called with x and y exchanged",
    )
)

wrong(
    "scaled_add",
    "The kernel only scales, and stores a·x in the dtype of x; y is added afterwards by torch. For fp16 "
    "the product is rounded (or overflows: a·x = 70000, y = -60000) before y comes: compute both in "
    "fp32, inside the kernel.",
    "not_yours",
)(
    written(
        """
@triton.jit
def scaled_add_kernel(a, x_ptr, z_ptr, n, stride_x, BLOCK: tl.constexpr):
    o = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + o * stride_x, mask=o < n, other=0.0).to(tl.float32)
    tl.store(z_ptr + o, a * x, mask=o < n)

def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(triton.cdiv(n, 1024),)](a, x, z, n, x.stride(0), BLOCK=1024)
    z += y
    return z
""",
        title="y added in torch to a rounded product",
    )
)

wrong(
    "scaled_add",
    "The grid is fixed at 128 programs of 256 elements, and the kernel has no loop: from n = 32769 on "
    "the rest of z is never written. The grid must be n / BLOCK rounded up.",
    "tail without a program",
    "never written",
)(
    written(
        """
@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    program = tl.program_id(0).to(tl.int64)
    k = program * BLOCK + tl.arange(0, BLOCK)
    alive = k < n
    xs = tl.load(x_ptr + k * stride_x, mask=alive).to(tl.float32)
    ys = tl.load(y_ptr + k * stride_y, mask=alive).to(tl.float32)
    tl.store(z_ptr + k, xs * a + ys, mask=alive)

def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(128,)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=256)
    return z
""",
        title="always 128 programs",
    )
)

wrong(
    "scaled_add",
    "Two mistakes: the grid `n // BLOCK` leaves the last n % 512 elements of z unwritten (all of them "
    "for n < 512), and y is read at `y_ptr + offs` without stride_y, wrong for a strided y.",
    "out_of_bounds",
    "out_of_bounds + tail without a program",
)(
    written(
        """
@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    offs = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    valid = offs < n
    x = tl.load(x_ptr + offs * stride_x, mask=valid, other=0.0)
    y = tl.load(y_ptr + offs, mask=valid, other=0.0)
    out = a * x.to(tl.float32) + y.to(tl.float32)
    tl.store(z_ptr + offs, out, mask=valid)

def scaled_add(a, x, y):
    n = len(x)
    BLOCK = 512
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(n // BLOCK,)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
""",
        title="grid rounded down and y taken as contiguous",
    )
)

right("scaled_add", "few programs that stride over the grid")(
    written("""
@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK).to(tl.int64)
    for first in range(tl.program_id(0) * BLOCK, n, tl.num_programs(0) * BLOCK):
        e = first + lanes
        real = e < n
        ax = a * tl.load(x_ptr + e * stride_x, mask=real, other=0.0).to(tl.float32)
        tl.store(
            z_ptr + e, ax + tl.load(y_ptr + e * stride_y, mask=real, other=0.0).to(tl.float32), mask=real
        )

def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty_like(x, memory_format=torch.contiguous_format)
    programs = min(n // 256 + 1, 64)
    scaled_add_kernel[(programs,)](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=256)
    return z
""")
)

wrong(
    "scaled_add",
    "The kernel reads the global WIDTH, a plain Python integer. Interpreted that works; compiled, for "
    "any input, Triton refuses it (NameError: only tl.constexpr globals may be used). Pass it as a "
    "tl.constexpr argument.",
    "crashed",
)(
    written(
        """
WIDTH = 512

@triton.jit
def scaled_add_kernel(a, x_ptr, y_ptr, z_ptr, n, stride_x, stride_y):
    offsets = tl.program_id(0).to(tl.int64) * WIDTH + tl.arange(0, WIDTH)
    mask = offsets < n
    x = tl.load(x_ptr + offsets * stride_x, mask=mask, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + offsets * stride_y, mask=mask, other=0.0).to(tl.float32)
    tl.store(z_ptr + offsets, a * x + y, mask=mask)

def scaled_add(a, x, y):
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    scaled_add_kernel[(triton.cdiv(n, WIDTH),)](a, x, y, z, n, x.stride(0), y.stride(0))
    return z
""",
        title="block size taken from a Python global",
    )
)
