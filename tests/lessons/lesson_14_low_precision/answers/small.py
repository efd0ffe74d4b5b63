"""Answers to quantize_blocks and hadamard_rotate."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from tests.corpus import edited, right, written, wrong

BLOCKS = """
@triton.jit
def block_kernel(X, Y, S, M, N, sm, sn, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    j = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    ok = (i < M) & (j < N)
    x = tl.load(X + i * sm + j * sn, mask=ok, other=0).to(tl.float32)
    top = tl.maximum(tl.max(x), -tl.min(x))
    inv = tl.where(top > 0, 448.0 / top, 1.0)
    tl.store(Y + i * N + j, (x * inv).to(Y.dtype.element_ty), mask=ok)
    tl.store(S + tl.program_id(0) * tl.cdiv(N, BN) + tl.program_id(1), tl.where(top > 0, top / 448.0, 1.0))


def blocks(x, block_m, block_n):
    M, N = x.shape
    y = torch.empty(M, N, dtype=torch.float8_e4m3fn, device=x.device)
    s = torch.empty(triton.cdiv(M, block_m), triton.cdiv(N, block_n), device=x.device)
    block_kernel[s.shape](x, y, s, M, N, *x.stride(), BM=block_m, BN=block_n)
    return y, s
"""
right("quantize_blocks", "the reciprocal, and the largest of both ends")(written(BLOCKS))


def of_blocks(says: str, *names: str, edits: tuple) -> None:
    """The right answer with a few places changed."""
    wrong("quantize_blocks", says, *names, title=says)(edited(BLOCKS, *edits))


of_blocks("Negative numbers do not count.", "largest without its sign forgotten",
          edits=(("tl.maximum(tl.max(x), -tl.min(x))", "tl.max(x)"),))  # fmt: skip
of_blocks("240 is the end of another format.", "scaled to 240",
          edits=(("448.0 / top", "240.0 / top"), ("top / 448.0", "top / 240.0")))  # fmt: skip
of_blocks("The reciprocal is returned.", "the inverse scale is returned",
          edits=(("tl.where(top > 0, top / 448.0, 1.0))", "inv)"),))  # fmt: skip
of_blocks("x is stored as it is.", "x is not scaled", edits=(("(x * inv).to", "x.to"),))
of_blocks("Values are multiplied by the scale.", "multiplied by the scale",
          edits=(("(x * inv).to", "(x / inv).to"),))  # fmt: skip

ROTATE = """
@triton.jit
def step_kernel(X, G, Y, M, sm, sn, D: tl.constexpr, BM: tl.constexpr, STEPS: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    ok = (i < M)[:, None]
    y = tl.load(X + i[:, None] * sm + d[None, :] * sn, mask=ok, other=0).to(tl.float32) * tl.load(G + d)[None, :]
    for k in tl.static_range(STEPS):
        pairs = y.reshape(BM, D >> (k + 1), 2, 1 << k).permute(0, 1, 3, 2)
        a, b = tl.split(pairs)
        y = tl.join(a + b, a - b).permute(0, 1, 3, 2).reshape(BM, D)
    tl.store(Y + i[:, None] * D + d[None, :], (y * D ** -0.5).to(Y.dtype.element_ty), mask=ok)


def butterflies(x, signs):
    M, D = x.shape
    y = torch.empty(M, D, dtype=x.dtype, device=x.device)
    step_kernel[(triton.cdiv(M, 16),)](x, signs, y, M, *x.stride(), D=D, BM=16, STEPS=D.bit_length() - 1)
    return y
"""
right("hadamard_rotate", "butterflies of tl.split and tl.join")(written(ROTATE))


def of_rotation(says: str, *names: str, edits: tuple) -> None:
    """The right answer with a few places changed."""
    wrong("hadamard_rotate", says, *names, title=says)(edited(ROTATE, *edits))


of_rotation("1/√D is missing.", "not divided by √D", edits=(("(y * D ** -0.5)", "y"),))
of_rotation("Divided by D.", "divided by D", edits=(("(y * D ** -0.5)", "(y / D)"),))
of_rotation("No signs.", "signs forgotten", edits=((" * tl.load(G + d)[None, :]", ""),))
of_rotation("The signs come last.", "signs after the product",
            edits=((" * tl.load(G + d)[None, :]", ""), ("(y * D ** -0.5)", "(y * D ** -0.5 * tl.load(G + d)[None, :])")))  # fmt: skip
