# label: right
# title: one program per column

@triton.jit
def one_column(dy_ptr, db_ptr, M, stride_m, stride_n, BLOCK: tl.constexpr):
    n = tl.program_id(0).to(tl.int64)
    acc = 0.0
    for m0 in range(0, M, BLOCK):
        m = m0 + tl.arange(0, BLOCK).to(tl.int64)
        acc += tl.sum(tl.load(dy_ptr + m * stride_m + n * stride_n, mask=m < M, other=0.0).to(tl.float32))
    tl.store(db_ptr + n, acc)


def bias_gradient(dy):
    db = torch.empty(dy.shape[1], dtype=dy.dtype)
    one_column[(dy.shape[1],)](dy, db, dy.shape[0], dy.stride(0), dy.stride(1), BLOCK=16)
    return db
