# label: wrong
# title: the pointer moves by elements, not by columns
# says: After each block the pointers move by BLOCK elements, where BLOCK columns are BLOCK * stride elements apart: only a row with several blocks and a stride of its own shows it.
# names: last tile missing; one edit

@triton.jit
def moving_kernel(x_ptr, s_ptr, n, row_stride, column_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    pointers = x_ptr + row * row_stride + lanes * column_stride
    total = tl.zeros((BLOCK,), tl.float32)
    left = n
    while left > 0:
        total += tl.load(pointers, mask=lanes < left, other=0.0).to(tl.float32)
        pointers += BLOCK
        left -= BLOCK
    tl.store(s_ptr + row, tl.sum(total, axis=0))


def moving(x):
    M, N = x.shape
    s = torch.empty(M, dtype=x.dtype, device=x.device)
    moving_kernel[(M,)](x, s, N, x.stride(0), x.stride(1), BLOCK=64)
    return s
