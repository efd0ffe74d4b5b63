# label: right
# title: lane by lane

from torch import Tensor


@triton.jit
def lanewise_kernel(x_ptr, lse_ptr, N, x_row, x_col, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64)
    lane = tl.arange(0, BLOCK)
    top = tl.full((BLOCK,), -float("inf"), tl.float32)  # every lane keeps a maximum and a sum of its own
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, N, BLOCK):
        j = start + lane
        x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
        new = tl.maximum(top, x)
        safe = tl.where(new == -float("inf"), 0.0, new)
        total = total * tl.exp(top - safe) + tl.exp(x - safe)
        top = new
    m = tl.max(top, axis=0)
    safe_m = tl.where(m == -float("inf"), 0.0, m)
    l = tl.sum(total * tl.exp(top - safe_m), axis=0)
    tl.store(lse_ptr + i, m + tl.log(l))


def online_logsumexp(x: Tensor) -> Tensor:
    M, N = x.shape
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    lanewise_kernel[(M,)](x, lse, N, *x.stride(), BLOCK=32 if N <= 1024 else 1024)
    return lse
