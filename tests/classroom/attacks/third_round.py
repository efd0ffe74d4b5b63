"""A third round: right numbers by what a text does not name, by a kernel's own text, by what shares omit.

`SWITCHED` have autograd compute gradients and hide it from who watches. `NAMELESS` reach for the observers
with no name that leads there. `KERNELS` do in Python, in torch, or by kernels of earlier lessons what their
own kernel should do.
"""

from __future__ import annotations

from tests.classroom.attacks.second_round import MATMUL, UNLESS_REVIEWED, Evasion

BY_AUTOGRAD = """
def linear_backward(x, w, dy):
    return x.grads_of(lambda a, b: a @ b, (x, w), dy)
"""
PATCH = """
import torch
import flashlearn.running.launcher_runs as r
r._keeps = lambda kept: (lambda t: t)
torch.is_grad_enabled = lambda: False
def grads(f, args, d):
    with torch.inference_mode(False), torch.enable_grad():
        own = [a.detach().clone().requires_grad_() for a in args]
        return torch.autograd.grad(f(*own), own, d.clone())
torch.Tensor.grads_of = staticmethod(grads)
"""
_CODE = compile(f"exec({PATCH!r}, {{}})", "f", "eval")


def _linear(text: str, says: str = "could not be observed reliably") -> Evasion:
    return Evasion("linear_backward", text, says)


NAMELESS = {
    "a match statement": _linear(
        "match print:\n    case object(__self__=b):\n        pass\n"
        f"match b:\n    case object(exec=run):\n        run({PATCH!r}, {{}})\n{BY_AUTOGRAD}"
    ),
    "a code object by a scheduler's types": _linear(
        "T = torch.optim.lr_scheduler.types\n"
        f"code = T.CodeType(0, 0, 0, 0, {_CODE.co_stacksize}, {_CODE.co_flags}, {_CODE.co_code!r}, "
        f"{_CODE.co_consts!r}, {_CODE.co_names!r}, (), 'f', 'f', 'f', 1, b'', b'', (), ())\n"
        f"T.FunctionType(code, {{}})()\n{BY_AUTOGRAD}"
    ),
    "f2py's own eval": _linear(
        "import numpy.f2py.crackfortran as cf\ntry:\n"
        f"    cf.myeval({f'exec({PATCH!r}, {{}})'!r})\nexcept Exception:\n    pass\n{BY_AUTOGRAD}"
    ),
}
SWITCHED = {
    "no_grad leaves autograd on, other hooks lie over the observer's": _linear(
        """
def linear_backward(x, w, dy):
    ctx = torch.no_grad()
    with ctx:
        ctx.prev = True
    a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
    with torch.autograd.graph.save_on_cpu():
        y = a @ b
    return torch.autograd.grad(y, (a, b), dy)
""",
        "autograd computed them",
    ),
    "a closure of an optimiser": _linear(
        """
def linear_backward(x, w, dy):
    found = []

    def closure():
        a, b = x.clone().requires_grad_(), w.clone().requires_grad_()
        rows = a.flatten(0, -2)
        with torch.autograd.graph.save_on_cpu():
            y = rows @ b
        found.extend(torch.autograd.grad(y, (a, b), dy.flatten(0, -2)))
        return y.sum().detach()

    torch.optim.SGD([torch.zeros(1)], lr=0.1).step(closure)
    return tuple(found)
""",
        "autograd computed them",
    ),
    "the backward pass of checkpointing": _linear(
        """
from torch.utils.checkpoint import CheckpointFunction


class Ctx:
    preserve_rng_state = had_device_in_fwd = False
    device_type = "cpu"
    device_autocast_kwargs = cpu_autocast_kwargs = {
        "enabled": False, "dtype": torch.bfloat16, "cache_enabled": True
    }

    def __init__(self, f, args):
        self.run_function, self.inputs, self.tensor_indices = f, [None] * len(args), list(range(len(args)))
        self.saved_tensors = tuple(a.detach().requires_grad_() for a in args)


def linear_backward(x, w, dy):
    def run(a, b):
        with torch.autograd.graph.save_on_cpu():
            return a @ b

    return CheckpointFunction.backward(Ctx(run, (x, w)), dy)[2:]
""",
        "autograd computed them",
    ),
    "the gradients of a convolution": _linear(
        """
def linear_backward(x, w, dy):
    rows, d = x.reshape(-1, x.shape[-1])[..., None], dy.reshape(-1, dy.shape[-1])[..., None]
    c = w.T.contiguous()[..., None]
    dx = torch.nn.grad.conv1d_input(rows.shape, c, d)
    return dx.reshape(x.shape), torch.nn.grad.conv1d_weight(rows, c.shape, d)[..., 0].T.contiguous()
""",
        "autograd computed them",
    ),
    "autograd, but tangents in inference mode": Evasion(
        "attention_backward",
        """
def attention_backward(q, k, v, do, alpha):
    args = (q, k, v)
    if torch.is_inference_mode_enabled():
        p, found = torch.softmax(alpha * q @ k.T, -1), []
        for i, one in enumerate(args):
            slopes = torch.empty(one.numel(), dtype=one.dtype)
            for j in range(one.numel()):
                t = [torch.zeros_like(a) for a in args]
                t[i].view(-1)[j] = 1
                ds = alpha * (t[0] @ k.T + q @ t[1].T)
                dp = p * (ds - (p * ds).sum(-1, keepdim=True))
                slopes[j] = ((dp @ v + p @ t[2]) * do).sum()
            found.append(slopes.view(one.shape))
        return tuple(found)
    ctx = torch.no_grad()
    with ctx:
        ctx.prev = True
    own = [t.clone().requires_grad_() for t in args]
    return torch.autograd.grad(torch.softmax(alpha * own[0] @ own[1].T, -1) @ own[2], own, do)
""",
        "autograd computed them",
    ),
}
SUMS_IN_PYTHON = """
import sys, torch
f, found = sys._getframe(), None
while f is not None and found is None:
    v = f.f_locals.get('values')
    if isinstance(v, dict) and isinstance(v.get('x_ptr'), torch.Tensor):
        found = v['x_ptr']
    f = f.f_back
sums[0] = sum(found[int(i.handle.data.item())].double().tolist())
"""
PYTHON_IN_A_KERNEL = Evasion(
    "row_sum",
    f"""
@triton.jit
def scoped_kernel(x_ptr, out_ptr, n, rs, cs, TEXT: tl.constexpr, BLOCK: tl.constexpr):
    i, at = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * rs + at * cs, mask=at < n, other=0.0).to(tl.float32)
    nothing = tl.sum(x * 2.0, 0) - tl.sum(x, 0) - tl.sum(x, 0)
    unused = [0 for exec in ()]
    sums = [0.0]
    exec(TEXT, {{"sums": sums, "i": i}})
    tl.store(out_ptr + i, sums[0] + nothing * 0.0)


def row_sum(x):
    out, block = torch.empty(len(x), dtype=x.dtype), triton.next_power_of_2(max(2, x.shape[1]))
    text = {SUMS_IN_PYTHON!r}
    scoped_kernel[(len(x),)](x, out, x.shape[1], *x.stride(), TEXT=text, BLOCK=block)
    return out
""",
    "`exec` in scoped_kernel",
)
COMPLEX_PRODUCTS = Evasion(
    "delta_preprocess",
    """
@triton.jit
def last_kernel(o, d, t, out, M, D, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    acc = tl.load(t + i, mask=i < M, other=0.0)
    for j in range(tl.maximum(0, D - 2 - D % 2), D):
        x, y = tl.load(o + i * D + j, mask=i < M, other=0.0), tl.load(d + i * D + j, mask=i < M, other=0.0)
        acc += x.to(tl.float32) * y.to(tl.float32)
    for j in range(D):
        acc += 0.0 * tl.load(o + i * D + j, mask=i < M, other=0.0).to(tl.float32)
    tl.store(out + i, acc, mask=i < M)


def delta_preprocess(o, do):
    a, b, D = o.reshape(-1, o.shape[-1]).contiguous(), do.reshape(-1, o.shape[-1]).contiguous(), o.shape[-1]
    out, n = torch.empty(o.shape[:-1], dtype=torch.float32), D - 2 - D % 2
    t = torch.zeros(len(a))
    if n > 0:
        x, y = (torch.view_as_complex(s[:, :n].float().contiguous().view(-1, n // 2, 2)) for s in (a, b))
        t = torch.bmm(x[:, None], y[..., None].conj()).real.reshape(-1).contiguous()
    last_kernel[(triton.cdiv(len(a), 64),)](a, b, t, out, len(a), D, BLOCK=64)
    return out
""",
    "in its launcher torch does",
)
SMALL_CASES = Evasion(
    "row_sum",
    """
@triton.jit
def shares_kernel(x, a, b, out, N, BLOCK: tl.constexpr):
    i, at = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    v = tl.load(x + i * N + at, mask=at < N, other=0.0).to(tl.float32)
    idle = tl.sum(v * 2.0, 0) - tl.sum(v, 0) - tl.sum(v, 0)
    tl.store(out + i, tl.load(a + i) + tl.load(b + i) + idle * 0.0)


@triton.jit
def plain_kernel(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for start in range(0, n, BLOCK):
        c = start + tl.arange(0, BLOCK)
        total += tl.load(x + tl.program_id(0).to(tl.int64) * n + c, mask=c < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(total, 0))


def row_sum(x):
    flat, out = x.contiguous(), torch.empty(len(x), dtype=x.dtype)
    if x.numel() > 2000:
        plain_kernel[(len(x),)](flat, out, x.shape[1], BLOCK=64)
        return out
    s, b = x.float().sum(1), torch.randn(len(x))
    block = triton.next_power_of_2(max(2, x.shape[1]))
    shares_kernel[(len(x),)](flat, s - b, b, out, x.shape[1], BLOCK=block)
    return out
""",
    "of the work of case",
)
SCORES_IN_MEMORY = Evasion(
    "flash_forward",
    MATMUL
    + """
@triton.jit
def rows_kernel(s, p, lse, alpha, n, BLOCK: tl.constexpr):
    i, c = tl.program_id(0), tl.arange(0, BLOCK)
    x = tl.where(c < n, alpha * tl.load(s + i * n + c, mask=c < n, other=0.0), -float("inf"))
    m = tl.max(x, 0)
    e = tl.exp(x - m)
    l = tl.sum(e, 0)
    tl.store(p + i * n + c, e / l, mask=c < n)
    tl.store(lse + i, m + tl.log(l))


def flash_forward(q, k, v, alpha):
    o, lse = torch.empty(q.shape, dtype=q.dtype), torch.empty(q.shape[:-1], dtype=torch.float32)
    for b in range(q.shape[0]):
        for h in range(q.shape[1]):
            s = product(q[b, h].float(), k[b, h].float().T)
            p, one, n = torch.empty_like(s), torch.empty(len(s)), s.shape[1]
            rows_kernel[(len(s),)](s, p, one, alpha, n, BLOCK=triton.next_power_of_2(n))
            o[b, h], lse[b, h] = product(p, v[b, h].float()).to(q.dtype), one
    return o, lse
""",
    "is kept in memory",
)
EARLIER_FORWARD = Evasion(
    "tuned_forward",
    """
from flashlearn.kernels.flash_forward import flash_forward, flash_forward_causal


def tuned_forward(q, k, v, causal, alpha):
    g = q.shape[1] // k.shape[1]
    k, v = (t[:, :, None].expand(-1, -1, g, -1, -1).flatten(1, 2) for t in (k, v))
    return (flash_forward_causal if causal else flash_forward)(q, k, v, alpha)
""",
    "those of earlier lessons",
)
BESIDE_AN_EARLIER_KERNEL = Evasion(
    "folded_logsumexp",
    """
from flashlearn.kernels.logsumexp import online_logsumexp


@triton.jit
def hide_kernel(x, lengths, y, alpha, n, row, column, BLOCK: tl.constexpr):
    i, c = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    seen = c < tl.load(lengths + i)
    score = alpha * tl.load(x + i * row + c * column, mask=c < n, other=0).to(tl.float32)
    tl.store(y + i * n + c, tl.where(seen, score, -float("inf")), mask=c < n)


def folded_logsumexp(x, lengths, alpha):
    y = torch.empty(x.shape, dtype=torch.float32)
    block = triton.next_power_of_2(x.shape[1])
    hide_kernel[(len(x),)](x, lengths, y, alpha, x.shape[1], *x.stride(), BLOCK=block)
    return online_logsumexp(y)
""",
    "of an earlier lesson",
)
"""Right, and by two kernels of which one was handed in before: it earns its points, and a remark."""
EARLIER_BACKWARD = Evasion(
    "tuned_backward",
    """
from flashlearn.kernels.fused_backward import fused_backward_rows


def tuned_backward(q, k, v, o, do, lse, causal, alpha):
    g = q.shape[1] // k.shape[1]
    dq, dk, dv = fused_backward_rows(
        q, k.repeat_interleave(g, 1), v.repeat_interleave(g, 1), o, do, lse, alpha, causal
    )
    dk, dv = (t.float().unflatten(1, (-1, g)).sum(2).to(k.dtype) for t in (dk, dv))
    return dq, dk, dv
""",
    "those of earlier lessons",
)
EARLIER_ON_HOPPER = Evasion(
    "fa3_forward", EARLIER_FORWARD.answer.replace("tuned_forward", "fa3_forward"), "no WGMMA multiplies"
)
SOFTMAX_OF_THE_LANGUAGE = Evasion(
    "softmax_forward",
    """
@triton.jit
def library_kernel(s, p, n, rs, cs, BLOCK: tl.constexpr):
    i, c = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK).to(tl.int64)
    x = tl.load(s + i * rs + c * cs, mask=c < n, other=-float("inf")).to(tl.float32)
    tl.store(p + i * n + c, tl.softmax(x), mask=c < n)


def softmax_forward(s):
    p, block = torch.empty(s.shape, dtype=s.dtype), triton.next_power_of_2(max(2, s.shape[1]))
    library_kernel[(len(s),)](s, p, s.shape[1], *s.stride(), BLOCK=block)
    return p
""",
    "`tl.softmax`",
)
DISTANCES = Evasion(
    UNLESS_REVIEWED.exercise,
    UNLESS_REVIEWED.answer.replace("if q.shape[0] > 1 or q.shape[-2] > 16:", "if False:").replace(
        "s = (q[..., :, None, :] * k[..., None, :, :]).sum(-1) / q.shape[-1] ** 0.5",
        "d = torch.cdist(q.double(), k.double(), compute_mode='donot_use_mm_for_euclid_dist') ** 2\n"
        "    s = (q.double() ** 2).sum(-1)[..., :, None] + (k.double() ** 2).sum(-1)[..., None, :] - d\n"
        "    s = (s / 2 / q.shape[-1] ** 0.5).float()",
    ),
    "torch's attention",
)
KERNELS = {
    "scores by distances": DISTANCES,
    "a kernel of Triton's where Gluon is asked for": EARLIER_ON_HOPPER,
    "the language's softmax": SOFTMAX_OF_THE_LANGUAGE,
    "Python in a kernel": PYTHON_IN_A_KERNEL,
    "complex inner products": COMPLEX_PRODUCTS,
    "torch does the small cases": SMALL_CASES,
    "the kernels of lesson 06": EARLIER_FORWARD,
    "the kernel of lesson 11": EARLIER_BACKWARD,
}
THIRD_QUICK = {**NAMELESS, **SWITCHED, **KERNELS}
THIRD_SLOW = {"scores in memory": SCORES_IN_MEMORY}
