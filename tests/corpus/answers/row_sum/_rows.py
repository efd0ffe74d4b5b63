# part: a text that answers change

@triton.jit
def rowsum_k(inp, out, R, C, sr, sc, RB: tl.constexpr, CB: tl.constexpr):
    r = tl.program_id(0) * RB + tl.arange(0, RB)
    total = tl.zeros((RB,), dtype=tl.float32)
    for c0 in range(0, C, CB):
        c = c0 + tl.arange(0, CB)
        live = (r[:, None] < R) & (c[None, :] < C)
        tile = tl.load(inp + r[:, None] * sr + c[None, :] * sc, mask=live, other=0).to(tl.float32)
        total += tl.sum(tile, 1)
    tl.store(out + r, total, mask=r < R)


def launcher(x):
    R, C = x.shape
    out = torch.empty(R, dtype=x.dtype, device=x.device)
    rowsum_k[(triton.cdiv(R, 4),)](x, out, R, C, x.stride(0), x.stride(1), RB=4, CB=16)
    return out
