# label: right
# title: one program per head, autotuned; clamped rows and tl.where instead of masks

@triton.autotune([triton.Config({"BLOCK": b}, num_warps=w) for b, w in ((32, 4), (64, 8))], key=["S"])
@triton.jit
def whole_head_kernel(x, y, z, out, logs, scale, T, S, D, BLOCK: tl.constexpr, WIDTH: tl.constexpr):
    # one program per head; lanes beyond the end are clamped to the last row and taken out by where
    head = tl.program_id(0)
    c = tl.arange(0, WIDTH)
    real = c < D
    for t in range(0, T, BLOCK):
        i = tl.minimum(t + tl.arange(0, BLOCK), T - 1)
        a = tl.load(x + (head * T + i)[:, None] * D + tl.minimum(c, D - 1)[None, :])
        a = tl.where(real[None, :], a, 0.0)
        top = tl.full([BLOCK], float("-inf"), tl.float32)
        low = tl.zeros([BLOCK], tl.float32)
        acc = tl.zeros([BLOCK, WIDTH], tl.float32)
        for s in range(0, S, BLOCK):
            j = s + tl.arange(0, BLOCK)
            at = (head * S + tl.minimum(j, S - 1))[:, None] * D + tl.minimum(c, D - 1)[None, :]
            kk = tl.where(real[None, :], tl.load(y + at), 0.0)
            vv = tl.load(z + at)  # the repeated columns are not stored
            w = tl.dot(a.to(tl.float32), tl.trans(kk.to(tl.float32)), input_precision="ieee") * scale
            w = tl.where((j < S)[None, :], w, float("-inf"))
            higher = tl.maximum(top, tl.max(w, 1))
            f = tl.exp(top - higher)
            w = tl.exp(w - higher[:, None])
            low = low * f + tl.sum(w, 1)
            acc = acc * f[:, None] + tl.dot(w, vv.to(tl.float32), input_precision="ieee")
            top = higher
        keep = (t + tl.arange(0, BLOCK) < T)[:, None] & real[None, :]
        tl.store(out + (head * T + i)[:, None] * D + c[None, :], acc / low[:, None], mask=keep)
        tl.store(logs + head * T + i, top + tl.log(low), mask=t + tl.arange(0, BLOCK) < T)


def one_program_per_head(q, k, v, alpha):
    q, k, v = (t.contiguous() for t in (q, k, v))
    B, H, T, D = q.shape
    out, logs = torch.empty_like(q), torch.empty(B, H, T, dtype=torch.float32)
    whole_head_kernel[(B * H,)](
        q, k, v, out, logs, alpha, T, k.shape[2], D, WIDTH=max(16, triton.next_power_of_2(D))
    )
    return out, logs
