# label: wrong
# title: grid rounded down
# says: line `grid = (n // 256,)`: the grid is rounded down, so the ragged tail has no program
# names: never written

from torch import Tensor


@triton.jit
def axpy(a, x, y, z, n, sx, sy, BLOCK: tl.constexpr):
    tid = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = tid < n
    xv = tl.load(x + tid * sx, mask=inside).to(tl.float32)
    yv = tl.load(y + tid * sy, mask=inside).to(tl.float32)
    tl.store(z + tid, a * xv + yv, mask=inside)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.numel()
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    grid = (n // 256,)
    axpy[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=256)
    return z
