"""Answers to lesson 02, written without a look at what the grader knows: the sixteenth set."""

# Kernels stay as they were typed: lines as long as they are, and the names of matrices.
# ruff: noqa: E501, E741, RUF100

from __future__ import annotations

from tests.corpus import written, wrong

wrong(
    "softmax_jacobian",
    "in `entry` both factors are p[k]: off the diagonal it is −p_k² instead of −p_k p_j (an index)",
    "one share squared",
)(
    written(
        '''
def softmax_jacobian(p: sp.Matrix) -> sp.Matrix:
    """J with J[k, j] = ∂p_k/∂s_j: a column [N, 1] → [N, N]."""

    def entry(k, j):
        delta = 1 if k == j else 0
        return p[k] * (delta - p[k])

    return sp.Matrix(p.rows, p.rows, entry)
''',
        title="same share twice",
    )
)

wrong(
    "softmax_vjp",
    "the line `middle = …` takes the plain mean of dp (as in lesson 01's centring), where it must"
    " be the mean weighted by p, ⟨p, dp⟩",
    "plain mean of dp",
)(
    written(
        '''
def softmax_vjp(p: sp.Matrix, dp: sp.Matrix) -> sp.Matrix:
    """ds = Jᵀ dp without J: two columns [N, 1] → a column [N, 1]."""
    middle = sum(dp) / sp.Integer(p.rows)
    centred = dp - middle * sp.ones(p.rows, 1)
    return p.multiply_elementwise(centred)
''',
        title="plain mean, once more",
    )
)

wrong(
    "log_softmax_vjp",
    "the return line is the cross-entropy gradient 'p − y' with dlog put in for the one-hot y; "
    "right is dlog − p·Σ dlog (this has the sign turned round and no sum)",
    "arguments exchanged",
)(
    written(
        '''
def log_softmax_vjp(p: sp.Matrix, dlog: sp.Matrix) -> sp.Matrix:
    """ds for l = log softmax(s), from p = softmax(s) and dlog = ∂L/∂l: two columns [N, 1] → a column [N, 1]."""
    # the well-known one: softmax + log-likelihood gives prediction minus target
    return p - dlog
''',
        title="cross entropy",
    )
)

wrong(
    "softmax_forward",
    "the load fills padding with other=-100.0 instead of −inf, so with scores around −200 the "
    "padding wins the maximum and takes the whole sum",
    "one edit",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def softmax_forward_kernel(s_ptr, p_ptr, N, s_row, s_col, p_row, p_col, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    col = tl.arange(0, BLOCK).to(tl.int64)
    valid = col < N
    # exp(-100) is nothing, so the padding adds nothing
    scores = tl.load(s_ptr + row * s_row + col * s_col, mask=valid, other=-100.0).to(tl.float32)
    num = tl.exp(scores - tl.max(scores, axis=0))
    den = tl.sum(num, axis=0)
    tl.store(p_ptr + row * p_row + col * p_col, num / den, mask=valid)


def softmax_forward(s: Tensor) -> Tensor:
    """p = softmax(s) row by row: [M, N] of any strides → [M, N] contiguous, in the dtype of s."""
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    BLOCK = triton.next_power_of_2(N)
    # num_warps: how many groups of 32 threads share a program's block; the result does not depend on it
    softmax_forward_kernel[(M,)](
        s, p, N, *s.stride(), *p.stride(), BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16)
    )
    return p
''',
        title="filler minus 100",
    )
)

wrong(
    "softmax_backward",
    "p is taken for the scores: the lines `e = …` and `p = e / …` send the given shares through a"
    " second softmax before the (right) formula is used",
    "one edit",
)(
    written(
        '''
from torch import Tensor


@triton.jit
def softmax_backward_kernel(
    p_ptr, dp_ptr, ds_ptr, N, p_row, p_col, dp_row, dp_col, ds_row, ds_col, BLOCK: tl.constexpr
):
    # reads 2 N, writes N elements; p and dp may be laid out differently
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    inside = j < N
    x = tl.load(p_ptr + i * p_row + j * p_col, mask=inside, other=-float("inf")).to(tl.float32)
    dp = tl.load(dp_ptr + i * dp_row + j * dp_col, mask=inside, other=0.0).to(tl.float32)
    # forward again
    e = tl.exp(x - tl.max(x, axis=0))
    p = e / tl.sum(e, axis=0)
    # backward
    dot = tl.sum(p * dp, axis=0)
    tl.store(ds_ptr + i * ds_row + j * ds_col, p * (dp - dot), mask=inside)


def softmax_backward(p: Tensor, dp: Tensor) -> Tensor:
    """ds = p ∘ (dp − ⟨p, dp⟩) row by row: [M, N] of any strides → [M, N] contiguous, in p's dtype."""
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype, device=p.device)
    BLOCK = triton.next_power_of_2(N)
    softmax_backward_kernel[(M,)](
        p, dp, ds, N, *p.stride(), *dp.stride(), *ds.stride(),
        BLOCK=BLOCK, num_warps=min(max(BLOCK // 512, 1), 16),
    )
    return ds
''',
        title="softmax again",
    )
)
