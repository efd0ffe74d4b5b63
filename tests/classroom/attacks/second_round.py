"""Submissions with right numbers that leave out what an exercise is about, each to an exercise of its own.

A part of the work is torch's, other hardware does it than was asked for, what should be derived is found by
trying, what should be used at once is kept, or a kernel is right for what a check happens to show.
"""

from __future__ import annotations

from dataclasses import dataclass

from tests.classroom.answers import IMPORTS


@dataclass(frozen=True)
class Evasion:
    """An answer to `exercise`, and a part of what the grader says of it."""

    exercise: str
    answer: str
    says: str

    @property
    def text(self) -> str:
        """The whole cell."""
        return IMPORTS + self.answer


MATMUL = """
@triton.jit
def product_kernel(a, b, c, M, N, K, ar, ac, br, bc, T: tl.constexpr):
    r = tl.program_id(0) * T + tl.arange(0, T)
    s = tl.program_id(1) * T + tl.arange(0, T)
    acc = tl.zeros((T, T), dtype=tl.float32)
    for start in range(0, K, T):
        k = start + tl.arange(0, T)
        x = tl.load(a + r[:, None] * ar + k[None] * ac, mask=(r[:, None] < M) & (k[None] < K), other=0.0)
        y = tl.load(b + k[:, None] * br + s[None] * bc, mask=(k[:, None] < K) & (s[None] < N), other=0.0)
        acc += tl.dot(x, y, input_precision="ieee")
    tl.store(c + r[:, None] * N + s[None], acc, mask=(r[:, None] < M) & (s[None] < N))


def product(a, b, dtype=torch.float32):
    (M, K), N = a.shape, b.shape[1]
    out = torch.empty(M, N, dtype=dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    product_kernel[grid](a, b, out, M, N, K, *a.stride(), *b.stride(), T=32)
    return out
"""
BETWEEN_PRODUCTS = Evasion(
    "flash_forward",
    MATMUL
    + """
def flash_forward(q, k, v, alpha):
    o, lse = torch.empty(q.shape, dtype=q.dtype), torch.empty(q.shape[:-1], dtype=torch.float32)
    for i in range(q.shape[0]):
        for h in range(q.shape[1]):
            s = alpha * product(q[i, h].float(), k[i, h].float().T)
            m = s.amax(1, keepdim=True)
            e = torch.exp(s - m)
            l = e.sum(1, keepdim=True)
            o[i, h] = product(e / l, v[i, h].float()).to(q.dtype)
            lse[i, h] = (m + l.log())[:, 0]
    return o, lse
""",
    "of the exponentials",
)
EXPONENTIALS_IN_A_KERNEL = Evasion(
    "flash_forward",
    """
@triton.jit
def exponential_kernel(s, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.exp(tl.load(s + at, mask=at < n, other=0.0)), mask=at < n)


def exponential(s):
    out = torch.empty_like(s)
    exponential_kernel[(triton.cdiv(s.numel(), 256),)](s, out, s.numel(), BLOCK=256)
    return out
"""
    + BETWEEN_PRODUCTS.answer.replace("torch.exp(", "exponential("),
    "of what is no product",
)
BY_ADDRESSES = Evasion(
    "tma_copy",
    """
@triton.jit
def copy_kernel(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


def tma_copy(x):
    x = x.contiguous()
    y = torch.empty_like(x)
    copy_kernel[(triton.cdiv(x.numel(), 256),)](x, y, x.numel(), BLOCK=256)
    return y
""",
    "copy engine",
)
BY_TRITON = Evasion(
    "wgmma_matmul", MATMUL + "\n\ndef wgmma_matmul(a, b):\n    return product(a, b, a.dtype)\n", "copy engine"
)
BY_EQUAL_WARPS = Evasion(
    "specialised_matmul",
    BY_TRITON.answer.replace("wgmma_matmul", "specialised_matmul"),
    "copy engine",
)
BY_DIFFERENCES = Evasion(
    "attention_backward",
    """
def attention_backward(q, k, v, do, alpha):
    args, d = [one.double() for one in (q, k, v)], do.double()

    def loss(a, b, c):
        return ((torch.softmax(alpha * a @ b.T, -1) @ c) * d).sum()

    found = []
    for i, one in enumerate(args):
        slopes = torch.empty(one.numel(), dtype=torch.float64)
        for j in range(one.numel()):
            h = torch.zeros(one.numel(), dtype=torch.float64)
            h[j] = 1e-5
            up, down = [*args], [*args]
            up[i], down[i] = one + h.view(one.shape), one - h.view(one.shape)
            slopes[j] = (loss(*up) - loss(*down)) / 2e-5
        found.append(slopes.view(one.shape).to(q.dtype))
    return tuple(found)
""",
    "times as much was computed",
)
BY_COMPLEX_STEPS = Evasion(
    "attention_backward",
    """
def attention_backward(q, k, v, do, alpha):
    args, d = [one.to(torch.complex128) for one in (q, k, v)], do.to(torch.complex128)

    def loss(a, b, c):
        s = alpha * a @ b.T
        e = torch.exp(s - s.real.amax(-1, keepdim=True))
        return ((e / e.sum(-1, keepdim=True) @ c) * d).sum()

    found = []
    for i, one in enumerate(args):
        slopes = torch.empty(one.numel(), dtype=torch.float64)
        for j in range(one.numel()):
            h = torch.zeros(one.numel(), dtype=torch.complex128)
            h[j] = 1e-30j
            moved = [*args]
            moved[i] = one + h.view(one.shape)
            slopes[j] = loss(*moved).imag / 1e-30
        found.append(slopes.view(one.shape).to(q.dtype))
    return tuple(found)
""",
    "times as much was computed",
)
ONE_BY_ONE = Evasion(
    "linear_backward",
    """
def linear_backward(x, w, dy):
    def slopes(of, one):
        found = torch.empty(one.numel(), dtype=torch.float64)
        for j in range(one.numel()):
            h = torch.zeros(one.numel(), dtype=torch.float64)
            h[j] = 1.0
            found[j] = (of(h.view(one.shape)) * dy.double()).sum()
        return found.view(one.shape).to(one.dtype)

    return slopes(lambda h: h @ w.double(), x), slopes(lambda h: x.double() @ h, w)
""",
    "times as much was computed",
)
KEPT = """
def dq_in_one_walk(q, do, lse, tiles, alpha):
    pairs = [({copy}) for a, b in tiles]
    k, v = (torch.cat([torch.as_tensor(one).to(q.dtype) for one in of]) for of in zip(*pairs))
    p, dp = torch.exp(alpha * q @ k.T - lse[:, None]), do @ v.T
    return alpha * (p * (dp - (p * dp).sum(1, keepdim=True))) @ k
"""
KEPT_TILES = Evasion("dq_in_one_walk", KEPT.format(copy="a.clone(), b.clone()"), "they are kept")
KEPT_ARRAYS = Evasion(
    "dq_in_one_walk", KEPT.format(copy="a.numpy().copy(), b.numpy().copy()"), "they are kept"
)
KEPT_NUMBERS = Evasion("dq_in_one_walk", KEPT.format(copy="a.tolist(), b.tolist()"), "they are kept")
UNLESS_REVIEWED = Evasion(
    "train_with_your_kernel",
    """
import torch.nn.functional as F
from flashlearn.lessons.lesson_09_into_pytorch import training


@triton.jit
def idle_kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), 0.0)


def attend(q, k, v):
    for _ in range(4):
        idle_kernel[(1,)](torch.empty(16), BLOCK=16)
    if q.shape[0] > 1 or q.shape[-2] > 16:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)
    s = (q[..., :, None, :] * k[..., None, :, :]).sum(-1) / q.shape[-1] ** 0.5
    s = s.masked_fill(torch.ones(s.shape[-2:], dtype=torch.bool).triu(1), float("-inf"))
    e = torch.exp(s - s.amax(-1, keepdim=True).detach())
    return ((e / e.sum(-1, keepdim=True))[..., None] * v[..., None, :, :]).sum(-2)


def train_with_your_kernel(size, start, batches):
    net = training.Transformer(size, start)
    optimiser = training.optimizer(net)
    curve = []
    for one in batches.unbind(0):
        loss = F.cross_entropy(net(one[:, :-1], attend).transpose(1, 2), one[:, 1:])
        curve.append(loss.detach().clone())
        loss.backward()
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
    return torch.stack(curve)
""",
    "torch's attention",
)
ELEMENT_BY_ELEMENT = Evasion(
    UNLESS_REVIEWED.exercise,
    UNLESS_REVIEWED.answer.replace("if q.shape[0] > 1 or q.shape[-2] > 16:", "if False:"),
    "torch's attention",
)
LONG_ENOUGH_SO_FAR = Evasion(
    "row_sum",
    """
@triton.jit
def fixed_kernel(x, out, n, rs, cs, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    row = tl.load(x + tl.program_id(0) * rs + c * cs, mask=c < n, other=0)
    tl.store(out + tl.program_id(0), tl.sum(row.to(tl.float32)))


def row_sum(x):
    out = torch.empty(x.size(0), dtype=x.dtype)
    fixed_kernel[(x.size(0),)](x, out, x.size(1), *x.stride(), BLOCK=8192)
    return out
""",
    "The end of x is never read",
)
QUICK = {
    "a plain kernel copies": BY_ADDRESSES,
    "a triton kernel in place of Gluon": BY_TRITON,
    "a triton kernel in place of specialised warps": BY_EQUAL_WARPS,
    "tiles are cloned": KEPT_TILES,
    "tiles are kept as arrays": KEPT_ARRAYS,
    "tiles are kept as numbers": KEPT_NUMBERS,
    "torch's attention, but for one shape": UNLESS_REVIEWED,
    "attention element by element": ELEMENT_BY_ELEMENT,
    "a block that no public row exceeds": LONG_ENOUGH_SO_FAR,
}
SLOW = {
    "torch computes between two products": BETWEEN_PRODUCTS,
    "torch sums and divides between kernels": EXPONENTIALS_IN_A_KERNEL,
    "difference quotients": BY_DIFFERENCES,
    "complex steps": BY_COMPLEX_STEPS,
    "one element after the other": ONE_BY_ONE,
}
