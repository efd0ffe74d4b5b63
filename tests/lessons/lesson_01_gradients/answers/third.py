"""Answers to lesson 01, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "linear_backward",
    "The einsum keeps the dots in its output, so for a batched x dw is [B, K, N] instead of [K, N]: all "
    "sequences used w, so their gradients must be added.",
    "dw for each batch element",
)(
    written(
        """
def linear_backward(x, w, dy):
    dx = torch.einsum("...mn,kn->...mk", dy, w)
    dw = torch.einsum("...mk,...mn->...kn", x, dy)
    return dx, dw
""",
        title="dw keeps the batch dimension",
    )
)

wrong(
    "linear_backward",
    "`.view(-1, K)` refuses tensors whose memory is in another order, which the exercise announces: a "
    "batched x that is a transposed view raises a RuntimeError. Use reshape or flatten.",
    "crashed",
)(
    written(
        """
def linear_backward(x, w, dy):
    K, N = w.shape
    flat_x = x.view(-1, K)
    flat_dy = dy.view(-1, N)
    dw = flat_x.T @ flat_dy
    dx = (flat_dy @ w.T).view(x.shape)
    return dx, dw
""",
        title="view of tensors in another memory order",
    )
)

wrong(
    "linear_backward",
    "For three dimensions dw takes `.mean(dim=0)` over the sequences; gradients of one weight used in B "
    "sequences add. Wrong by a factor B for every batch of more than one.",
    "constant factor",
)(
    written(
        """
def linear_backward(x, w, dy):
    dx = torch.matmul(dy, w.mT)
    per_sequence = torch.matmul(x.mT, dy)
    if x.dim() == 3:
        dw = per_sequence.mean(dim=0)
    else:
        dw = per_sequence
    return dx, dw
""",
        title="batch gradients averaged",
    )
)

wrong(
    "bias_gradient",
    "With one program per tile the sums are added onto `total`, which is made by torch.empty: it starts "
    "with whatever was there. It must be torch.zeros. Wrong for every input, however often it looks "
    "right by luck.",
    "uninitialised memory",
)(
    written(
        """
@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (rows < M)[:, None] & (cols < N)[None, :]
    tile = tl.load(dy_ptr + rows[:, None] * dy_row + cols[None, :] * dy_col, mask=mask, other=0.0)
    part = tl.sum(tile.to(tl.float32), axis=0)
    tl.atomic_add(db_ptr + cols, part, mask=cols < N)

def bias_gradient(dy):
    M, N = dy.shape
    total = torch.empty(N, dtype=torch.float32, device=dy.device)
    BLOCK_M, BLOCK_N = 64, 32
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    bias_gradient_kernel[grid](dy, total, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return total.to(dy.dtype)
""",
        title="tiles added atomically to memory nobody cleared",
    )
)

wrong(
    "bias_gradient",
    "`tl.sum(tile, axis=1)` sums each row of the tile; with square tiles the shapes fit, and row sums "
    "land in the columns' slots. The rows must disappear: axis=0.",
    "summed along the wrong axis",
)(
    written(
        """
@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK: tl.constexpr):
    j = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    db = tl.zeros([BLOCK], tl.float32)
    for top in range(0, M, BLOCK):
        i = (top + tl.arange(0, BLOCK)).to(tl.int64)
        inside = (i[:, None] < M) & (j[None, :] < N)
        tile = tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=inside, other=0.0)
        db += tl.sum(tile.to(tl.float32), axis=1)
    tl.store(db_ptr + j, db, mask=j < N)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    bias_gradient_kernel[(triton.cdiv(N, 32),)](dy, db, M, N, *dy.stride(), BLOCK=32)
    return db
""",
        title="tiles summed along their rows",
    )
)

wrong(
    "bias_gradient",
    "`acc` has the element type of dy and is rounded back to it in every turn; for fp16 and bf16 the "
    "running sum loses digits (a long column, or one that cancels). Keep it in tl.float32 and let the "
    "store convert.",
    "precision",
    "tiles summed in half precision",
)(
    written(
        """
@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    dtype: tl.constexpr = dy_ptr.dtype.element_ty
    j = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    acc = tl.zeros([BLOCK_N], dtype)
    for start in range(0, M, BLOCK_M):
        i = (start + tl.arange(0, BLOCK_M)).to(tl.int64)
        g = tl.load(
            dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col,
            mask=(i < M)[:, None] & (j < N)[None, :], other=0.0,
        )
        acc += tl.sum(g.to(tl.float32), axis=0).to(dtype)
    tl.store(db_ptr + j, acc, mask=j < N)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    BLOCK_M, BLOCK_N = 32, 64
    grid = (triton.cdiv(N, BLOCK_N),)
    bias_gradient_kernel[grid](dy, db, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return db
""",
        title="running sum kept in the input's type",
    )
)

wrong(
    "bias_gradient",
    "The loop turns `M // BLOCK_M` times: the rows of the last, short tile are left out (M = 10: db is "
    "0; M = 70: six rows missing). Round up; the mask is already there.",
    "the last, short tile left out",
)(
    written(
        """
@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    j = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    ok_j = j < N
    db = tl.zeros([BLOCK_N], tl.float32)
    turns = M // BLOCK_M
    for turn in range(turns):
        i = (turn * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
        ok = (i < M)[:, None] & ok_j[None, :]
        dy = tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=ok, other=0.0)
        db = db + tl.sum(dy.to(tl.float32), axis=0)
    tl.store(db_ptr + j, db, mask=ok_j)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    BLOCK_M, BLOCK_N = 32, 64
    bias_gradient_kernel[(triton.cdiv(N, BLOCK_N),)](
        dy, db, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return db
""",
        title="only whole tiles are visited",
    )
)

wrong(
    "bias_gradient",
    "`ptrs += BLOCK_M * N` takes a row to be N elements long. The next tile begins BLOCK_M * dy_row "
    "further on; for a window into a wider matrix or a transposed dy the second tile comes from the "
    "wrong place (M > 16).",
    "out_of_bounds",
)(
    written(
        """
@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    j = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    i = tl.arange(0, BLOCK_M).to(tl.int64)
    ptrs = dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col
    running = tl.zeros([BLOCK_N], tl.float32)
    left = M
    while left > 0:
        tile = tl.load(ptrs, mask=(i[:, None] < left) & (j[None, :] < N), other=0.0)
        running += tl.sum(tile.to(tl.float32), axis=0)
        ptrs += BLOCK_M * N
        left -= BLOCK_M
    tl.store(db_ptr + j, running, mask=j < N)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    bias_gradient_kernel[(triton.cdiv(N, 16),)](dy, db, M, N, *dy.stride(), BLOCK_M=16, BLOCK_N=16)
    return db
""",
        title="pointer moved on by N per row",
    )
)

wrong(
    "bias_gradient",
    "Two mistakes: the load's mask knows only the columns, so the last tile reads rows from M on and "
    "adds them; and the final store has no mask, so it writes behind db whenever N is no multiple of 64.",
    "rows below the matrix",
    "rows below the matrix + out_of_bounds",
)(
    written(
        """
@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    cols = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    col_sum = tl.zeros([BLOCK_N], tl.float32)
    for r0 in range(0, M, BLOCK_M):
        rows = (r0 + tl.arange(0, BLOCK_M)).to(tl.int64)
        block = tl.load(
            dy_ptr + rows[:, None] * dy_row + cols[None, :] * dy_col, mask=cols[None, :] < N, other=0.0
        )
        col_sum += tl.sum(block.to(tl.float32), axis=0)
    tl.store(db_ptr + cols, col_sum)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    BLOCK_M, BLOCK_N = 32, 64
    grid = (triton.cdiv(N, BLOCK_N),)
    bias_gradient_kernel[grid](dy, db, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return db
""",
        title="rows not masked and last columns stored unmasked",
    )
)

right("bias_gradient", "partial sums of each tile added by a second kernel")(
    written("""
@triton.jit
def tile_sums_kernel(dy_ptr, part_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    t = tl.program_id(0).to(tl.int64)
    i = t * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    mask = (i < M)[:, None] & (j < N)[None, :]
    dy = tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=mask, other=0.0)
    tl.store(part_ptr + t * N + j, tl.sum(dy.to(tl.float32), axis=0), mask=j < N)

@triton.jit
def add_parts_kernel(part_ptr, db_ptr, tiles, N, BLOCK_N: tl.constexpr):
    j = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    db = tl.zeros([BLOCK_N], tl.float32)
    for t in range(tiles):
        db += tl.load(part_ptr + t * N + j, mask=j < N, other=0.0)
    tl.store(db_ptr + j, db, mask=j < N)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    BLOCK_M, BLOCK_N = 64, 32
    tiles, strips = triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N)
    parts = torch.empty((tiles, N), dtype=torch.float32, device=dy.device)
    tile_sums_kernel[(tiles, strips)](dy, parts, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    add_parts_kernel[(strips,)](parts, db, tiles, N, BLOCK_N=BLOCK_N)
    return db
""")
)

wrong(
    "bias_gradient",
    "Programs of the same columns load the sum so far, add their part and store it: a race. One after "
    "the other it comes out right; side by side on a GPU contributions get lost for every M > BLOCK_M = "
    "32. It takes tl.atomic_add, or a loop in one program.",
    "load, add, store",
)(
    written(
        """
@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    i = tl.program_id(1).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    j = tl.program_id(0).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    in_i, in_j = i < M, j < N
    dy = tl.load(
        dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=in_i[:, None] & in_j[None, :], other=0.0
    )
    so_far = tl.load(db_ptr + j, mask=in_j, other=0.0)
    tl.store(db_ptr + j, so_far + tl.sum(dy.to(tl.float32), axis=0), mask=in_j)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.zeros(N, dtype=torch.float32, device=dy.device)
    BLOCK_M, BLOCK_N = 32, 64
    grid = (triton.cdiv(N, BLOCK_N), triton.cdiv(M, BLOCK_M))
    bias_gradient_kernel[grid](dy, db, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N)
    return db.to(dy.dtype)
""",
        title="one program per tile with load, add and store",
    )
)
