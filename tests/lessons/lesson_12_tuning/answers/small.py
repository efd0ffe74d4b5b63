"""Answers to lesson 12's small exercises."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

import sympy as sp

from tests.corpus import edited, right, written, wrong

FOLDED = """
@triton.jit
def rows_kernel(X, LENGTHS, OUT, alpha, M, N, row, col, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.load(LENGTHS + i, mask=i < M, other=0).to(tl.int32)
    c = tl.abs(alpha) * 1.4426950408889634 + 1e-30
    m = tl.full((BM,), float("-inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    for j0 in range(0, N, BN):
        j = j0 + tl.arange(0, BN)
        ok = (i < M)[:, None] & (j[None, :] < n[:, None])
        x = tl.load(X + i[:, None] * row + j[None, :] * col, mask=ok, other=0.0).to(tl.float32)
        if alpha < 0:
            x = -x
        x = tl.where(ok, x, float("-inf"))
        top = tl.maximum(m, tl.max(x, 1))
        base = tl.where(top == float("-inf"), 0.0, top)
        l = l * tl.exp2((m - base) * c) + tl.sum(tl.exp2((x - base[:, None]) * c), 1)
        m = top
    lse = (m * c + tl.log2(l)) * 0.6931471805599453
    tl.store(OUT + i, lse, mask=i < M)


def by_rows(x, lengths, alpha):
    M, N = x.shape
    out = torch.empty(M, dtype=torch.float32, device=x.device)
    rows_kernel[(triton.cdiv(M, 8),)](x, lengths, out, alpha, M, N, *x.stride(), BM=8, BN=32)
    return out
"""

right("folded_logsumexp", "the difference first, the factor after it; all in base 2 to the end")(
    written(FOLDED)
)


def slip(says: str, *names: str, edits: tuple) -> None:
    """The right answer with a few places changed."""
    wrong("folded_logsumexp", says, *names, title=says)(edited(FOLDED, *edits))


slip(
    "The result stays in base 2.",
    "LSE in base 2",
    edits=(("(m * c + tl.log2(l)) * 0.6931471805599453", "m * c + tl.log2(l)"),),
)
slip(
    "log2 e is missing.",
    "log2 e is missing",
    edits=(("tl.abs(alpha) * 1.4426950408889634", "tl.abs(alpha)"),
           ("(m * c + tl.log2(l)) * 0.6931471805599453", "m * c + tl.log(l)")),
)  # fmt: skip
slip(
    "The sign is lost.",
    "the sign of alpha is lost",
    edits=(("        if alpha < 0:\n            x = -x\n", ""),),
)
slip(
    "Hidden products are −∞ before a negative factor.",
    "hidden, then scaled",
    "−∞ meets alpha",
    edits=(("        if alpha < 0:\n            x = -x\n", ""),
           ("tl.abs(alpha) * 1.4426950408889634 + 1e-30", "alpha * 1.4426950408889634")),
)  # fmt: skip
slip(
    "Where alpha is 0 the factor meets −∞.",
    "0 · ∞",
    "zero times inf",
    edits=(("tl.abs(alpha) * 1.4426950408889634 + 1e-30", "tl.abs(alpha) * 1.4426950408889634"),),
)
slip("The sum is not rescaled.", "not rescaled", "one edit", edits=(("l * tl.exp2((m - base) * c)", "l"),))


@right("split_loops", "with sympy's Min and Max")
def by_sympy(first, block_q, block_k, S_q, S_k):
    def seen(query):
        return sp.Max(0, sp.Min(S_k, query + 1 + S_k - S_q))

    return sp.floor(seen(first) / block_k) * block_k, seen(first + block_q - 1)


@wrong("split_loops", "The last query of the block decides where the mask begins.",
       "whole as far as the last query sees")  # fmt: skip
def by_the_last(first, block_q, block_k, S_q, S_k):
    end = max(0, min(S_k, first + block_q + S_k - S_q))
    return end // block_k * block_k, end


@wrong("split_loops", "One key short.", "one key short")
def one_short(first, block_q, block_k, S_q, S_k):
    return (
        max(0, min(S_k, first + S_k - S_q)) // block_k * block_k,
        max(0, min(S_k, first + block_q + S_k - S_q)),
    )


@wrong("heaviest_first", "The heads come one after the other.", "one head after the other")
def by_heads(pid, blocks, heads):
    return blocks - 1 - pid % blocks, pid // blocks


@right("heaviest_first", "divmod")
def by_divmod(pid, blocks, heads):
    above, head = divmod(pid, heads)
    return blocks - above - 1, head


@wrong("forward_budget", "Nothing is counted for Q.", "Q is not counted")
def without_q(block_q, block_k, D, size, stages, warps):
    return 2 * stages * block_k * D * size, block_q * (D + block_k) / (32 * warps)


@wrong("forward_budget", "The scores are forgotten.", "S is not counted")
def without_scores(block_q, block_k, D, size, stages, warps):
    return (block_q + 2 * stages * block_k) * D * size, block_q * D / (32 * warps)
