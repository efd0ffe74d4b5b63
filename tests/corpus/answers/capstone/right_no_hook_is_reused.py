# label: right
# title: every hook written out

from torch import Tensor

from flashlearn.kernels.delta import delta_preprocess
from flashlearn.kernels.hooked_backward import hooked_backward
from flashlearn.kernels.hooked_forward import hooked_forward
from flashlearn.kernels.hooks import Hooks, causal_keys, causal_mask, causal_queries


@triton.jit
def sees(b, h, i, j, n, m, e):
    at = i + m - n
    return (j <= at) & (at - j < e[0])


@triton.jit
def from_to(lo, hi, n, m, e):
    return tl.maximum(lo + m - n - e[0] + 1, 0), tl.minimum(hi + m - n + 1, m)


@triton.jit
def seen_from_to(lo, hi, n, m, e):
    return tl.maximum(lo - m + n, 0), tl.minimum(hi - m + n + e[0], n)


@triton.jit
def tanh(x):
    return 2 * tl.sigmoid(2 * x) - 1


@triton.jit
def scored(x, b, h, i, j, n, m, e):
    y = e[1] * tanh(x / e[1])
    return y - tl.load(e[2] + h) * (i + m - n - j)


@triton.jit
def uncapped(x, b, h, i, j, n, m, e):
    return x - tl.load(e[2] + h) * (i + m - n - j)


@triton.jit
def back(ds, x, s, b, h, i, j, n, m, e):
    t = tanh(x / e[1])
    return ds - ds * t * t


@triton.jit
def drop(w, b, h, i, j, n, m, e):
    row = i + tl.load(e[5] + b)
    column = j + tl.load(e[6] + b)
    u = tl.rand(e[4], (h.to(tl.int64) * e[9] + row) * e[10] + column)
    return tl.where(u < e[3], 0.0, w / (1 - e[3]))


@triton.jit
def begin(b, h, e):
    return tl.load(e[11] + h), 1.0


@triton.jit
def where(b, n, m, e):
    q0, k0 = tl.load(e[5] + b), tl.load(e[6] + b)
    return q0, k0, tl.load(e[5] + b + 1) - q0, tl.load(e[6] + b + 1) - k0


@triton.jit
def my_rows(n, b, e):
    return tl.load(e[7] + 2 * n + 1), tl.load(e[7] + 2 * n)


@triton.jit
def my_keys(n, b, e):
    return tl.load(e[8] + 2 * n + 1), tl.load(e[8] + 2 * n)


@triton.jit
def head_of(h, H, G):
    return h * G // H


@triton.jit
def heads_of(g, H, G):
    return g * H // G, (g + 1) * H // G, 1


@triton.jit
def dz_kernel(z_ptr, lse_ptr, o_ptr, do_ptr, dz_ptr, T, D, o_head, o_row, o_col, do_head, do_row, do_col,
              BLOCK: tl.constexpr, BD: tl.constexpr):
    h = tl.program_id(0)
    d = tl.arange(0, BD)[None, :]
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, T, BLOCK):
        i = start + tl.arange(0, BLOCK)
        ok = (i < T)[:, None] & (d < D)
        o = tl.load(o_ptr + h * o_head + i[:, None] * o_row + d * o_col, mask=ok, other=0.0).to(tl.float32)
        g = tl.load(do_ptr + h * do_head + i[:, None] * do_row + d * do_col, mask=ok, other=0.0).to(tl.float32)
        lse = tl.load(lse_ptr + h * T + i, mask=i < T, other=0.0)
        w = tl.where(lse == float("-inf"), 0.0, tl.exp(tl.load(z_ptr + h) - lse))
        acc += tl.where(i < T, w * tl.sum(o * g, axis=1), 0.0)
    tl.store(dz_ptr + h, 0.0 - tl.sum(acc, axis=0))


def capstone(q, k, v, do, slopes, logits, cu_seqlens_q, cu_seqlens_k, causal, window, cap, p, seed, alpha):
    B = 16 if q.device.type == "cpu" else 64
    H, T, D = q.shape[1:]

    def entries(cu):
        cu = cu.tolist()
        found = [(n, i) for n in range(len(cu) - 1) for i in range((cu[n + 1] - cu[n] + B - 1) // B)]
        return torch.tensor(found, dtype=torch.int32, device=q.device)

    rows, keys = entries(cu_seqlens_q), entries(cu_seqlens_k)
    extras = (window if window else 1 << 24, cap, slopes, p, seed, cu_seqlens_q, cu_seqlens_k, rows, keys,
              T, k.shape[2], logits)
    chosen = dict(start=begin, sequence=where, query_block=my_rows, key_block=my_keys, key_head=head_of,
                  query_heads=heads_of, extras=extras, score=uncapped)
    if causal:
        chosen.update(mask=sees, keys=from_to, queries=seen_from_to)
    if cap > 0:
        chosen.update(score=scored, score_gradient=back)
    if p > 0:
        chosen.update(weights=drop)
    hooks = Hooks(**chosen)
    size = (1, B * len(rows), B * len(keys))
    o, lse = hooked_forward(q, k, v, alpha, hooks, B, size)
    dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, hooks, B, size)
    dz = torch.empty_like(logits)
    dz_kernel[(H,)](logits, lse, o, do, dz, T, D, *o.stride()[1:], *do.stride()[1:], BLOCK=32,
                    BD=triton.next_power_of_2(D))
    return o, lse, dq, dk, dv, dz
