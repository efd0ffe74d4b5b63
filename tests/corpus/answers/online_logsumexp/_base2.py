# part: a text that answers change

@triton.jit
def lse_base2(x_ptr, out_ptr, rows, cols, sx_r, sx_c, ROWS: tl.constexpr, STEP: tl.constexpr):
    r = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    hi = tl.full([ROWS], -float("inf"), tl.float32)
    acc = tl.full([ROWS], 0.0, tl.float32)
    for k in range(tl.cdiv(cols, STEP)):
        c = k * STEP + tl.arange(0, STEP)
        t = tl.load(
            x_ptr + r[:, None] * sx_r + c[None, :] * sx_c,
            mask=(r[:, None] < rows) & (c[None, :] < cols), other=-float("inf"),
        ).to(tl.float32) * 1.4426950408889634
        new_hi = tl.maximum(hi, tl.max(t, 1))
        ref = tl.where(new_hi == -float("inf"), 0.0, new_hi)
        acc = acc * tl.exp2(hi - ref) + tl.sum(tl.exp2(t - ref[:, None]), 1)
        hi = new_hi
    tl.store(out_ptr + r, (hi + tl.log2(acc)) * 0.6931471805599453, mask=r < rows)


def launcher(x):
    M, N = x.shape
    out = torch.empty((M,), dtype=torch.float32, device=x.device)
    lse_base2[(triton.cdiv(M, 4),)](x, out, M, N, *x.stride(), ROWS=4, STEP=32)
    return out
