# label: wrong
# title: two passes
# says: two for loops: the maximum is found in a first walk and the sum in a second, every score is read twice
#   where one pass is asked for
# names: review

from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    x_ptr += i * x_row
    top = tl.full((), -float("inf"), tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        top = tl.maximum(top, tl.max(x, axis=0))
    safe = tl.where(top == -float("inf"), 0.0, top)
    total = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        j = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        total += tl.sum(tl.exp(x - safe), axis=0)
    tl.store(lse_ptr + i, top + tl.log(total))


def online_logsumexp(x: Tensor) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    BLOCK = 32 if N <= 1024 else 1024
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=BLOCK)
    return lse
