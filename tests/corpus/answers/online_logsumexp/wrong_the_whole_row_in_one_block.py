# label: wrong
# title: the whole row in one block
# says: The row is held in one block, as in lesson 02: no loop, nothing is carried.
# names: review

@triton.jit
def lse_one_block(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    j = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    shift = tl.where(m == -float("inf"), 0.0, m)
    tl.store(lse_ptr + i, m + tl.log(tl.sum(tl.exp(x - shift), axis=0)))


def online_logsumexp(x):
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    lse_one_block[(M,)](x, lse, N, *x.stride(), BLOCK=triton.next_power_of_2(N))
    return lse
