# label: wrong
# title: floor grid and out stride
# says: two: `grid = (n // BLOCK,)` leaves the ragged tail without a program, and z is stored with the stride
#   of x (`z_ptr + i * sx`).
# names: out_of_bounds

from torch import Tensor


@triton.jit
def axpy(a, x_ptr, y_ptr, z_ptr, n, sx, sy, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    ok = i < n
    x = tl.load(x_ptr + i * sx, mask=ok, other=0.0).to(tl.float32)
    y = tl.load(y_ptr + i * sy, mask=ok, other=0.0).to(tl.float32)
    tl.store(z_ptr + i * sx, a * x + y, mask=ok)


def scaled_add(a: float, x: Tensor, y: Tensor) -> Tensor:
    n = x.shape[0]
    z = torch.empty(n, dtype=x.dtype, device=x.device)
    BLOCK = 256
    grid = (n // BLOCK,)
    axpy[grid](a, x, y, z, n, x.stride(0), y.stride(0), BLOCK=BLOCK)
    return z
