# label: wrong
# title: one loop for the maximum, one for the sum
# says: The row is read twice: once for its maximum, once for the sum.
# names: review

@triton.jit
def lse_two_passes(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    cols = tl.arange(0, BLOCK)
    m = -float("inf")
    for start in range(0, N, BLOCK):
        j = start + cols
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        m = tl.maximum(m, tl.max(x, axis=0))
    shift = tl.where(m == -float("inf"), 0.0, m)
    total = 0.0
    for start in range(0, N, BLOCK):
        j = start + cols
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - shift), axis=0)
    tl.store(lse_ptr + i, m + tl.log(total))


def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    lse_two_passes[(M,)](x, lse, N, *x.stride(), BLOCK=256)
    return lse
