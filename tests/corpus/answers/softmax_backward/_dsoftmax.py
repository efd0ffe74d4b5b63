# part: a text that answers change

@triton.jit
def dsoftmax(P, G, DS, width, p_r, p_c, g_r, g_c, W: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    lanes = tl.zeros((W,), tl.float32)
    for first in range(0, width, W):
        c = first + tl.arange(0, W)
        p = tl.load(P + r * p_r + c * p_c, mask=c < width, other=0.0).to(tl.float32)
        g = tl.load(G + r * g_r + c * g_c, mask=c < width, other=0.0).to(tl.float32)
        lanes += p * g
    inner = tl.sum(lanes)
    for first in range(0, width, W):
        c = first + tl.arange(0, W)
        p2 = tl.load(P + r * p_r + c * p_c, mask=c < width, other=0.0).to(tl.float32)
        g2 = tl.load(G + r * g_r + c * g_c, mask=c < width, other=0.0).to(tl.float32)
        tl.store(DS + r * width + c, p2 * g2 - p2 * inner, mask=c < width)


def launcher(p, dp):
    ds = torch.empty(p.shape, dtype=p.dtype, device=p.device)
    dsoftmax[(p.shape[0],)](p, dp, ds, p.shape[1], *p.stride(), *dp.stride(), W=16)
    return ds
