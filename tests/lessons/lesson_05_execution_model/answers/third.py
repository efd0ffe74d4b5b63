"""Answers to lesson 05, written without a look at what the grader knows."""

from __future__ import annotations

from tests.corpus import right, written, wrong

wrong(
    "tiled_matmul",
    "`acc` has a's element type and is rounded back to it in every step: for fp16 and bf16 a long K "
    "loses digits. The sum belongs into fp32, with one conversion by the store.",
    "accumulator in half precision",
    "precision",
)(
    written(
        """
@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=a_ptr.dtype.element_ty)
    for k0 in range(0, K, BLOCK_K):
        k = k0 + tl.arange(0, BLOCK_K).to(tl.int64)
        a = tl.load(
            a_ptr + rows[:, None] * a_row + k[None, :] * a_col,
            mask=(rows < M)[:, None] & (k < K)[None, :], other=0.0,
        )
        b = tl.load(
            b_ptr + k[:, None] * b_row + columns[None, :] * b_col,
            mask=(k < K)[:, None] & (columns < N)[None, :], other=0.0,
        )
        acc += tl.dot(a, b, input_precision="ieee").to(a_ptr.dtype.element_ty)
    tl.store(
        c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc,
        mask=(rows < M)[:, None] & (columns < N)[None, :],
    )

def tiled_matmul(
    a, b, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, **options
):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    tiled_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
""",
        title="accumulator in the type of a",
    )
)

wrong(
    "tiled_matmul",
    "Both loads are masked in rows or columns only; for a K that is no multiple of 16 the last step "
    "reads a beyond its columns and b beyond its rows, and what is found there is added to the sum.",
    "inner dimension not masked",
)(
    written(
        """
@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    inner = tl.arange(0, BLOCK_K).to(tl.int64)
    a_tile = a_ptr + rows[:, None] * a_row + inner[None, :] * a_col
    b_tile = b_ptr + inner[:, None] * b_row + columns[None, :] * b_col
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(tl.cdiv(K, BLOCK_K)):
        a = tl.load(a_tile, mask=(rows < M)[:, None], other=0.0)
        b = tl.load(b_tile, mask=(columns < N)[None, :], other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_tile += BLOCK_K * a_col
        b_tile += BLOCK_K * b_row
    out = c_ptr + rows[:, None] * c_row + columns[None, :] * c_col
    tl.store(out, acc, mask=(rows < M)[:, None] & (columns < N)[None, :])

def tiled_matmul(
    a, b, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, **options
):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    tiled_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
""",
        title="inner dimension never masked",
    )
)

wrong(
    "tiled_matmul",
    "`a_ptrs += BLOCK_K` assumes that neighbouring columns of a lie side by side; it must be BLOCK_K * "
    "a_col. For a transposed a, or one with gaps, every step after the first reads the wrong tile (K > "
    "16).",
    "last tile missing",
)(
    written(
        """
@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K)
    a_ptrs = a_ptr + (rows[:, None] * a_row + k[None, :] * a_col)
    b_ptrs = b_ptr + (k[:, None] * b_row + columns[None, :] * b_col)
    accumulator = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    remaining = K
    while remaining > 0:
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (k[None, :] < remaining), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < remaining) & (columns[None, :] < N), other=0.0)
        accumulator += tl.dot(a, b, input_precision="ieee")
        a_ptrs += BLOCK_K
        b_ptrs += BLOCK_K * b_row
        remaining -= BLOCK_K
    c_ptrs = c_ptr + c_row * rows[:, None] + c_col * columns[None, :]
    tl.store(c_ptrs, accumulator, mask=(rows[:, None] < M) & (columns[None, :] < N))

def tiled_matmul(
    a, b, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, **options
):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    tiled_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
""",
        title="pointers of a moved on by BLOCK_K elements",
    )
)

wrong(
    "tiled_matmul",
    "In the address of b the inner index is multiplied by b_col and the columns by b_row: that is the "
    "transposed matrix. Wrong for every b that is not symmetric, out of bounds for K ≠ N.",
    "out_of_bounds",
)(
    written(
        """
@triton.jit
def load_tile(ptr, i, j, i_end, j_end, i_stride, j_stride):
    mask = (i < i_end)[:, None] & (j < j_end)[None, :]
    return tl.load(ptr + i[:, None] * i_stride + j[None, :] * j_stride, mask=mask, other=0.0)

@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K).to(tl.int64)
        a = load_tile(a_ptr, rows, inner, M, K, a_row, a_col)
        b = load_tile(b_ptr, inner, columns, K, N, b_col, b_row)
        acc += tl.dot(a, b, input_precision="ieee")
    mask = (rows < M)[:, None] & (columns < N)[None, :]
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc, mask=mask)

def tiled_matmul(
    a, b, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, **options
):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    tiled_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
""",
        title="strides of b exchanged",
    )
)

wrong(
    "tiled_matmul",
    "`range(K // BLOCK_K)` rounds down: the last K % 16 columns of a and rows of b are never multiplied "
    "(for K < 16 C is 0). Round up; boundary_check already pads with zeros.",
    "last block of K left out",
)(
    written(
        """
@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    top = tl.program_id(0) * BLOCK_M
    left = tl.program_id(1) * BLOCK_N
    a_block = tl.make_block_ptr(a_ptr, (M, K), (a_row, a_col), (top, 0), (BLOCK_M, BLOCK_K), (1, 0))
    b_block = tl.make_block_ptr(b_ptr, (K, N), (b_row, b_col), (0, left), (BLOCK_K, BLOCK_N), (1, 0))
    c_block = tl.make_block_ptr(c_ptr, (M, N), (c_row, c_col), (top, left), (BLOCK_M, BLOCK_N), (1, 0))
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(K // BLOCK_K):
        a = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(a, b, input_precision="ieee")
        a_block = tl.advance(a_block, (0, BLOCK_K))
        b_block = tl.advance(b_block, (BLOCK_K, 0))
    tl.store(c_block, acc.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))

def tiled_matmul(
    a, b, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, **options
):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    tiled_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
""",
        title="last short step over K left out",
    )
)

wrong(
    "tiled_matmul",
    "`acc = tl.dot(a, b)` replaces the sum in every step instead of adding to it: what is stored is the "
    "product of the last slice alone. Right only for K ≤ BLOCK_K.",
    "accumulator overwritten",
)(
    written(
        """
@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    row_mask, column_mask = rows[:, None] < M, columns[None, :] < N
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_K)):
        inner = (step * BLOCK_K + tl.arange(0, BLOCK_K)).to(tl.int64)
        a = tl.load(
            a_ptr + rows[:, None] * a_row + inner[None, :] * a_col,
            mask=row_mask & (inner[None, :] < K), other=0.0
        )
        b = tl.load(
            b_ptr + inner[:, None] * b_row + columns[None, :] * b_col,
            mask=column_mask & (inner[:, None] < K), other=0.0
        )
        acc = tl.dot(a, b, input_precision="ieee")
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc, mask=row_mask & column_mask)

def tiled_matmul(
    a, b, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, **options
):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    tiled_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
""",
        title="only the last slice of K kept",
    )
)

wrong(
    "tiled_matmul",
    "Two mistakes: the products a[:, :, None] * b[None, :, :] and their sum are taken in the inputs' "
    "type, so fp16 and bf16 are not summed in fp32; and the store has no mask, so a tile that hangs over "
    "the edge writes outside of C or into the next row.",
    "store without mask",
    "store without mask + accumulator in half precision",
)(
    written(
        """
@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    rows = tl.program_id(0).to(tl.int64) * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = tl.program_id(1).to(tl.int64) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        inner = start + tl.arange(0, BLOCK_K).to(tl.int64)
        a = tl.load(
            a_ptr + rows[:, None] * a_row + inner[None, :] * a_col,
            mask=(rows < M)[:, None] & (inner < K)[None, :], other=0.0,
        )
        b = tl.load(
            b_ptr + inner[:, None] * b_row + columns[None, :] * b_col,
            mask=(inner < K)[:, None] & (columns < N)[None, :], other=0.0,
        )
        acc += tl.sum(a[:, :, None] * b[None, :, :], axis=1)
    tl.store(c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc)

def tiled_matmul(
    a, b, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, **options
):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    tiled_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
""",
        title="sum over k by broadcasting in half and a store without mask",
    )
)

right("tiled_matmul", "one-dimensional grid and pointers that are moved on")(
    written("""
@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    pid = tl.program_id(0).to(tl.int64)
    across = tl.cdiv(N, BLOCK_N)
    rows = pid // across * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = pid % across * BLOCK_N + tl.arange(0, BLOCK_N)
    k = tl.arange(0, BLOCK_K).to(tl.int64)
    a_ptrs = a_ptr + rows[:, None] * a_row + k[None, :] * a_col
    b_ptrs = b_ptr + k[:, None] * b_row + columns[None, :] * b_col
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for done in range(0, K, BLOCK_K):
        a = tl.load(a_ptrs, mask=(rows[:, None] < M) & (k[None, :] < K - done), other=0.0)
        b = tl.load(b_ptrs, mask=(k[:, None] < K - done) & (columns[None, :] < N), other=0.0)
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_ptrs += a_col * BLOCK_K
        b_ptrs += b_row * BLOCK_K
    tl.store(
        c_ptr + rows[:, None] * c_row + columns[None, :] * c_col, acc.to(c_ptr.dtype.element_ty),
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )

def tiled_matmul(
    a, b, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, **options
):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    programs = triton.cdiv(M, BLOCK_M) * triton.cdiv(N, BLOCK_N)
    tiled_matmul_kernel[(programs,)](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
""")
)
