# label: right
# title: idle lanes of dp hold 7: their p is 0, and they are not stored

@triton.jit
def sb(p_ptr, dp_ptr, ds_ptr, M, N, sp0, sp1, sd0, sd1, RB: tl.constexpr, CB: tl.constexpr):
    m = tl.program_id(0).to(tl.int64) * RB + tl.arange(0, RB)
    n = tl.arange(0, CB)
    keep = (m[:, None] < M) & (n[None, :] < N)
    p = tl.load(p_ptr + m[:, None] * sp0 + n[None, :] * sp1, mask=keep, other=0.0).to(tl.float32)
    dp = tl.load(dp_ptr + m[:, None] * sd0 + n[None, :] * sd1, mask=keep, other=7.0).to(tl.float32)
    mean = tl.sum(dp * p, axis=1)
    ds = (dp - mean[:, None]) * p
    tl.store(ds_ptr + m[:, None] * N + n[None, :], ds, mask=keep)


def launcher(p, dp):
    M, N = p.shape
    ds = dp.new_empty((M, N))
    block = triton.next_power_of_2(N)
    sb[(triton.cdiv(M, 4),)](p, dp, ds, M, N, *p.stride(), *dp.stride(), RB=4, CB=block)
    return ds
