# label: right
# title: powers of two, a while loop that starts at −1e30

@triton.jit
def lse_base2(x_ptr, out_ptr, cols, sr, sc, BLOCK: tl.constexpr):
    LOG2E: tl.constexpr = 1.4426950408889634
    LN2: tl.constexpr = 0.6931471805599453
    r = tl.program_id(0).to(tl.int64)
    top = -1.0e30
    total = 0.0
    k = 0
    while k < cols:
        c = k + tl.arange(0, BLOCK).to(tl.int64)
        x = tl.load(x_ptr + r * sr + c * sc, mask=c < cols, other=-float("inf")).to(tl.float32) * LOG2E
        above = tl.maximum(top, tl.max(x, axis=0))
        total = total * tl.exp2(top - above) + tl.sum(tl.exp2(x - above), axis=0)
        top = above
        k += BLOCK
    tl.store(out_ptr + r, (top + tl.log2(total)) * LN2)


def online_logsumexp(x):
    out = torch.empty(x.shape[0], device=x.device)
    lse_base2[(x.shape[0],)](x, out, x.shape[1], *x.stride(), BLOCK=64)
    return out
