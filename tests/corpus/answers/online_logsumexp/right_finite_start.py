# label: right
# title: finite start

from torch import Tensor


@triton.jit
def online_logsumexp_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    top = tl.full((), -1e37, tl.float32)
    total = tl.full((), 0.0, tl.float32)
    for start in range(0, N, BLOCK):
        col = start + tl.arange(0, BLOCK)
        x = tl.load(x_ptr + row * x_row + col * x_col, mask=col < N, other=-float("inf")).to(tl.float32)
        before = top
        top = tl.maximum(before, tl.max(x, axis=0))
        total = total * tl.exp(before - top) + tl.sum(tl.exp(x - top), axis=0)
    tl.store(lse_ptr + row, tl.log(total) + top)


def online_logsumexp(x: Tensor) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    online_logsumexp_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=256 if N > 256 else 16)
    return lse
