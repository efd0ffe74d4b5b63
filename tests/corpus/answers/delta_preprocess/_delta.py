# part: a text that answers change

@triton.jit
def delta_flat(
    O, G, out, H, S, total, D, o0, o1, o2, o3, g0, g1, g2, g3, ROWS: tl.constexpr, DB: tl.constexpr
):
    n = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    live = n < total
    s = n % S
    h = (n // S) % H
    b = n // (S * H)
    o_row = O + b * o0 + h * o1 + s * o2
    g_row = G + b * g0 + h * g1 + s * g2
    acc = tl.zeros((ROWS,), tl.float32)
    for d0 in range(0, D, DB):
        d = d0 + tl.arange(0, DB)
        keep = live[:, None] & (d < D)[None, :]
        o = tl.load(o_row[:, None] + d[None, :] * o3, mask=keep, other=0.0)
        g = tl.load(g_row[:, None] + d[None, :] * g3, mask=keep, other=0.0)
        acc += tl.sum(o.to(tl.float32) * g.to(tl.float32), axis=1)
    tl.store(out + n, acc, mask=live)


def launcher(o, do):
    B, H, S, D = o.shape
    delta = torch.empty((B, H, S), dtype=torch.float32, device=o.device)
    total = B * H * S
    delta_flat[(triton.cdiv(total, 16),)](
        o, do, delta, H, S, total, D, *o.stride(), *do.stride(), ROWS=16, DB=16
    )
    return delta
