# label: wrong
# title: only whole tiles are visited
# says: The loop turns `M // BLOCK_M` times: the rows of the last, short tile are left out (M = 10: db is 0; M
#   = 70: six rows missing). Round up; the mask is already there.
# names: the last, short tile left out

@triton.jit
def bias_gradient_kernel(dy_ptr, db_ptr, M, N, dy_row, dy_col, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    j = (tl.program_id(0) * BLOCK_N + tl.arange(0, BLOCK_N)).to(tl.int64)
    ok_j = j < N
    db = tl.zeros([BLOCK_N], tl.float32)
    turns = M // BLOCK_M
    for turn in range(turns):
        i = (turn * BLOCK_M + tl.arange(0, BLOCK_M)).to(tl.int64)
        ok = (i < M)[:, None] & ok_j[None, :]
        dy = tl.load(dy_ptr + i[:, None] * dy_row + j[None, :] * dy_col, mask=ok, other=0.0)
        db = db + tl.sum(dy.to(tl.float32), axis=0)
    tl.store(db_ptr + j, db, mask=ok_j)

def bias_gradient(dy):
    M, N = dy.shape
    db = torch.empty(N, dtype=dy.dtype, device=dy.device)
    BLOCK_M, BLOCK_N = 32, 64
    bias_gradient_kernel[(triton.cdiv(N, BLOCK_N),)](
        dy, db, M, N, *dy.stride(), BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N
    )
    return db
