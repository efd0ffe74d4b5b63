# label: right
# title: a program per piece of a row, added atomically in fp32

@triton.jit
def piece_kernel(x_ptr, acc_ptr, n, s0, s1, BLOCK: tl.constexpr):
    i, piece = tl.program_id(0), tl.program_id(1)
    j = piece * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i * s0 + j * s1, mask=j < n, other=0.).to(tl.float32)
    tl.atomic_add(acc_ptr + i, tl.sum(x, 0))


def row_sum(x):
    m, n = x.shape
    acc = torch.zeros(m, dtype=torch.float32)
    piece_kernel[(m, triton.cdiv(n, 32))](x, acc, n, x.stride(0), x.stride(1), BLOCK=32)
    return acc.to(x.dtype)
