"""Lesson 05: answers to `tiled_matmul`."""

from __future__ import annotations

from tests.corpus import edited, right, written, wrong

POINTERS = """
@triton.jit
def matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr, GROUP: tl.constexpr,
):
    # after triton's tutorial: programs in groups of rows, pointers that advance
    pid = tl.program_id(axis=0)
    num_pid_m = tl.cdiv(M, BLOCK_SIZE_M)
    num_pid_n = tl.cdiv(N, BLOCK_SIZE_N)
    in_group = GROUP * num_pid_n
    first = (pid // in_group) * GROUP
    rows_here = min(num_pid_m - first, GROUP)
    pid_m = first + (pid % in_group) % rows_here
    pid_n = (pid % in_group) // rows_here

    offs_m = (pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)) % M
    offs_n = (pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)) % N
    offs_k = tl.arange(0, BLOCK_SIZE_K)
    a_ptrs = a_ptr + (offs_m[:, None] * stride_am + offs_k[None, :] * stride_ak)
    b_ptrs = b_ptr + (offs_k[:, None] * stride_bk + offs_n[None, :] * stride_bn)
    accumulator = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), dtype=tl.float32)
    for k in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)
        b = tl.load(b_ptrs, mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0)
        accumulator = tl.dot(a, b, accumulator, input_precision="ieee")
        a_ptrs += BLOCK_SIZE_K * stride_ak
        b_ptrs += BLOCK_SIZE_K * stride_bk
    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    c_ptrs = c_ptr + stride_cm * offs_cm[:, None] + stride_cn * offs_cn[None, :]
    c_mask = (offs_cm[:, None] < M) & (offs_cn[None, :] < N)
    tl.store(c_ptrs, accumulator.to(c_ptr.dtype.element_ty), mask=c_mask)


def tiled_matmul(a, b):
    M, K = a.shape
    K, N = b.shape
    c = torch.empty((M, N), device=a.device, dtype=a.dtype)
    grid = (triton.cdiv(M, 16) * triton.cdiv(N, 32),)
    matmul_kernel[grid](
        a, b, c, M, N, K, a.stride(0), a.stride(1), b.stride(0), b.stride(1), c.stride(0), c.stride(1),
        BLOCK_SIZE_M=16, BLOCK_SIZE_N=32, BLOCK_SIZE_K=32, GROUP=2,
    )
    return c
"""

OUTER = """
@triton.jit
def mm_outer(A, B, C, m, n, k, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr):
    # no tl.dot: one outer product per inner index, onto a 2-D grid
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    j = tl.program_id(1) * BN + tl.arange(0, BN)
    acc = tl.zeros((BM, BN), tl.float32)
    for t in range(k):
        col = tl.load(A + i * am + t * ak, mask=i < m, other=0.0).to(tl.float32)
        row = tl.load(B + t * bk + j * bn, mask=j < n, other=0.0).to(tl.float32)
        acc += col[:, None] * row[None, :]
    tl.store(C + i[:, None] * n + j[None, :], acc, mask=(i[:, None] < m) & (j[None, :] < n))


def tiled_matmul(a, b):
    m, k = a.shape
    n = b.shape[1]
    c = a.new_empty((m, n))
    grid = (triton.cdiv(m, 32), triton.cdiv(n, 32))
    mm_outer[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), BM=32, BN=32)
    return c
"""

TRANSPOSED = """
@triton.jit
def mm_transposed(a_ptr, b_ptr, c_ptr, M, N, K, a0, a1, b0, b1, c0, c1, SIZE: tl.constexpr):
    # Cᵀ = Bᵀ Aᵀ, tile by tile, by a few programs that take turns
    across = tl.cdiv(N, SIZE)
    for tile in range(tl.program_id(0), across * tl.cdiv(M, SIZE), tl.num_programs(0)):
        m = tile // across * SIZE + tl.arange(0, SIZE)
        n = tile % across * SIZE + tl.arange(0, SIZE)
        accT = tl.zeros((SIZE, SIZE), tl.float32)
        for k0 in range(0, K, SIZE):
            k = k0 + tl.arange(0, SIZE)
            in_k = k < K
            aT = tl.load(a_ptr + m[None, :] * a0 + k[:, None] * a1, (m < M)[None, :] & in_k[:, None], other=0)
            bT = tl.load(b_ptr + k[None, :] * b0 + n[:, None] * b1, in_k[None, :] & (n < N)[:, None], other=0)
            accT += tl.dot(bT, aT, input_precision="ieee")
        keep = (m[:, None] < M) & (n[None, :] < N)
        tl.store(c_ptr + m[:, None] * c0 + n[None, :] * c1, tl.trans(accT), mask=keep)


def tiled_matmul(a, b):
    c = torch.zeros(a.shape[0], b.shape[1], dtype=a.dtype)
    mm_transposed[(3,)](a, b, c, *c.shape, a.shape[1], *a.stride(), *b.stride(), *c.stride(), SIZE=16)
    return c
"""

right("tiled_matmul", "grouped programs, advancing pointers, addresses modulo the size")(written(POINTERS))
right("tiled_matmul", "outer products without tl.dot")(written(OUTER))

BLOCK_POINTERS = """
@triton.jit
def mm_blocks(a_ptr, b_ptr, c_ptr, M, N, K, a0, a1, b0, b1, c0, c1, BM: tl.constexpr, BN: tl.constexpr):
    pm, pn = tl.program_id(1), tl.program_id(0)
    a_at = tl.make_block_ptr(a_ptr, (M, K), (a0, a1), (pm * BM, 0), (BM, 32), (1, 0))
    b_at = tl.make_block_ptr(b_ptr, (K, N), (b0, b1), (0, pn * BN), (32, BN), (1, 0))
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(K, 32)):
        a = tl.load(a_at, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_at, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_at, b_at = tl.advance(a_at, (0, 32)), tl.advance(b_at, (32, 0))
    c_at = tl.make_block_ptr(c_ptr, (M, N), (c0, c1), (pm * BM, pn * BN), (BM, BN), (1, 0))
    tl.store(c_at, acc.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


def tiled_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, dtype=a.dtype)
    grid = (triton.cdiv(N, 64), triton.cdiv(M, 16))
    mm_blocks[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BM=16, BN=64)
    return c
"""

right("tiled_matmul", "block pointers, the grid's axes the other way round")(written(BLOCK_POINTERS))
right("tiled_matmul", "three persistent programs, transposed tiles")(written(TRANSPOSED))

wrong(
    "tiled_matmul",
    "The accumulator is replaced in each step.",
    "accumulator overwritten",
    "only the last tile",
    title="pointers, accumulator = tl.dot(a, b)",
)(edited(POINTERS, ("tl.dot(a, b, accumulator, input", "tl.dot(a, b, input")))

wrong(
    "tiled_matmul",
    "The pointers of B do not advance: every step reads its first rows again.",
    "B's pointer is not advanced",
    title="pointers, b_ptrs never advanced",
)(edited(POINTERS, ("        b_ptrs += BLOCK_SIZE_K * stride_bk\n", "")))

wrong(
    "tiled_matmul",
    "Neither pointer advances.",
    "addresses do not advance",
    title="pointers, neither advanced",
)(
    edited(
        POINTERS,
        ("        a_ptrs += BLOCK_SIZE_K * stride_ak\n        b_ptrs += BLOCK_SIZE_K * stride_bk\n", ""),
    )
)

wrong(
    "tiled_matmul",
    "The loop leaves out the incomplete block of the inner dimension.",
    "last block of K left out",
    "last tile missing",
    title="pointers, K // BLOCK_SIZE_K steps",
)(edited(POINTERS, ("range(0, tl.cdiv(K, BLOCK_SIZE_K))", "range(0, K // BLOCK_SIZE_K)")))

wrong(
    "tiled_matmul",
    "The inner dimension is not masked in either load.",
    "inner dimension not masked",
    "out_of_bounds",
    title="pointers, no mask in k",
)(
    edited(
        POINTERS,
        (", mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0", ""),
        (", mask=offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0", ""),
    )
)

wrong(
    "tiled_matmul",
    "The masked loads of A and B need other=0: what hidden lanes hold enters the sum.",
    "masked load without other",
    title="pointers, no other=",
)(
    edited(
        POINTERS,
        ("offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0", "offs_k[None, :] < K - k * BLOCK_SIZE_K"),
        ("offs_k[:, None] < K - k * BLOCK_SIZE_K, other=0.0", "offs_k[:, None] < K - k * BLOCK_SIZE_K"),
    )
)

right("tiled_matmul", "stores at wrapped indices without a mask: each lane twice, with the same value")(
    edited(
        POINTERS,
        ("    offs_cm = pid_m * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)\n", "    offs_cm = offs_m\n"),
        ("    offs_cn = pid_n * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)\n", "    offs_cn = offs_n\n"),
        (", mask=c_mask)", ")"),
    )
)

wrong(
    "tiled_matmul",
    "The block pointers of A are not checked along K: the last block reads beyond it.",
    "inner dimension not masked",
    "out_of_bounds",
    title="block pointers, A not checked along K",
)(edited(BLOCK_POINTERS, ("tl.load(a_at, boundary_check=(0, 1)", "tl.load(a_at, boundary_check=(0,)")))

wrong(
    "tiled_matmul",
    "The program's row and column are exchanged: the grid counts columns first.",
    "programs swapped",
    "never written",
    title="block pointers, program ids exchanged",
)(
    edited(
        BLOCK_POINTERS,
        ("pm, pn = tl.program_id(1), tl.program_id(0)", "pn, pm = tl.program_id(1), tl.program_id(0)"),
    )
)

wrong(
    "tiled_matmul",
    "The accumulator is fp16 where the inputs are.",
    "accumulator in half precision",
    "precision",
    title="outer, the accumulator in the dtype of A",
)(
    edited(
        OUTER,
        ("tl.zeros((BM, BN), tl.float32)", "tl.zeros((BM, BN), A.dtype.element_ty)"),
        (
            "acc += col[:, None] * row[None, :]",
            "acc = (acc + col[:, None] * row[None, :]).to(A.dtype.element_ty)",
        ),
    )
)

wrong(
    "tiled_matmul",
    "The last inner index is left out.",
    "last element of K left out",
    title="outer, range(k - 1)",
)(edited(OUTER, ("range(k)", "range(k - 1)")))

wrong(
    "tiled_matmul",
    "B is addressed with A's strides.",
    "strides of A used for B",
    "out_of_bounds",
    title="outer, strides of A for B",
)(edited(OUTER, ("*a.stride(), *b.stride()", "*a.stride(), *a.stride()")))

wrong(
    "tiled_matmul",
    "The columns are masked with m and the rows with n.",
    "out_of_bounds",
    "never written",
    title="outer, sizes exchanged in the store",
)(edited(OUTER, ("(i[:, None] < m) & (j[None, :] < n)", "(i[:, None] < n) & (j[None, :] < m)")))

wrong(
    "tiled_matmul",
    "Both views are taken for contiguous matrices.",
    "views taken for contiguous",
    "out_of_bounds",
    title="outer, strides k, 1 and n, 1",
)(edited(OUTER, ("*a.stride(), *b.stride()", "k, 1, n, 1")))

wrong(
    "tiled_matmul",
    "The tile is stored without turning it back.",
    "tiles not turned back",
    title="transposed, stored as it is",
)(edited(TRANSPOSED, ("tl.trans(accT)", "accT")))

wrong(
    "tiled_matmul",
    "Each product is rounded to the inputs' precision before it is added, and the first block is left out.",
    "precision + first tile missing",
    "first tile missing",
    "accumulator in half precision + first tile missing",
    "first block of K left out",
    title="transposed, from the second block, in half precision",
)(
    edited(
        TRANSPOSED,
        ("range(0, K, SIZE)", "range(SIZE, K, SIZE)"),
        (
            'accT += tl.dot(bT, aT, input_precision="ieee")',
            'accT += tl.dot(bT, aT, input_precision="ieee").to(aT.dtype).to(tl.float32)',
        ),
    )
)

wrong(
    "tiled_matmul",
    "C is always fp32.",
    "shape",
    title="transposed, c in fp32",
)(edited(TRANSPOSED, (", dtype=a.dtype)", ")")))

BLOCK_POINTERS = """
@triton.jit
def blocks_kernel(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, BLOCK: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    a = tl.make_block_ptr(a_ptr, (M, K), (sam, sak), (pm * BLOCK, 0), (BLOCK, BLOCK), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (sbk, sbn), (0, pn * BLOCK), (BLOCK, BLOCK), (1, 0))
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, K, BLOCK):
        left = tl.load(a, boundary_check=(0, 1))
        acc += tl.dot(left, tl.load(b, boundary_check=(0, 1)), input_precision="ieee")
        a = tl.advance(a, (0, BLOCK))
        b = tl.advance(b, (BLOCK, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (pm * BLOCK, pn * BLOCK), (BLOCK, BLOCK), (1, 0))
    tl.store(c, acc.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


def blocks(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    blocks_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), BLOCK=32)
    return c
"""

wrong(
    "tiled_matmul",
    "A is loaded without boundary_check: rows and columns beyond the matrix are read.",
    "out_of_bounds",
    title="block pointers, no boundary_check of A",
)(edited(BLOCK_POINTERS, ("left = tl.load(a, boundary_check=(0, 1))", "left = tl.load(a)")))

wrong(
    "tiled_matmul",
    "A's mask lacks inner < K.",
    "out_of_bounds",
    "inner dimension not masked",
    title="pointers, A's columns without a mask",
)(
    edited(
        POINTERS,
        (
            "a = tl.load(a_ptrs, mask=offs_k[None, :] < K - k * BLOCK_SIZE_K, other=0.0)",
            "a = tl.load(a_ptrs)",
        ),
    )
)

wrong(
    "tiled_matmul",
    "A GPU's `tl.dot` needs an inner block of at least 16: with 8 this does not compile.",
    "crashed",
    title="an inner block of 8",
)(edited(POINTERS, ("BLOCK_SIZE_K=32", "BLOCK_SIZE_K=8")))

wrong(
    "tiled_matmul",
    "A B whose second size is K is taken to be transposed: so is every square one.",
    "views taken for contiguous",
    "transposed",
    "one edit",
)(
    edited(
        POINTERS,
        (
            "    M, K = a.shape\n    K, N = b.shape\n",
            "    M, K = a.shape\n    b = b.t() if b.shape[1] == K else b\n    K, N = b.shape\n",
        ),
        title="b turned where it is square",
    )
)
