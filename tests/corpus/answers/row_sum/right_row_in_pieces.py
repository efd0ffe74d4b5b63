# label: right
# title: row in pieces

from torch import Tensor


@triton.jit
def row_sum_kernel(x_ptr, s_ptr, columns, stride_row, stride_column, CHUNK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.zeros((CHUNK,), tl.float32)
    for left in range(0, columns, CHUNK):
        c = (left + tl.arange(0, CHUNK)).to(tl.int64)
        lanes += tl.load(x_ptr + row * stride_row + c * stride_column, mask=c < columns, other=0.0).to(tl.float32)
    tl.store(s_ptr + row, tl.sum(lanes, axis=0))


def row_sum(x: Tensor) -> Tensor:
    s = torch.empty(x.shape[0], dtype=x.dtype, device=x.device)
    row_sum_kernel[(x.shape[0],)](x, s, x.shape[1], *x.stride(), CHUNK=64)
    return s
