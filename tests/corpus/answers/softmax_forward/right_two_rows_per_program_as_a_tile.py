# label: right
# title: two rows per program as a tile

@triton.jit
def softmax_forward_kernel(
    s_ptr, p_ptr, M, N, s_row, s_col, p_row, p_col, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    i = (tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS))[:, None]
    j = tl.arange(0, BLOCK)[None, :]
    here = (i < M) & (j < N)
    s = tl.load(s_ptr + i * s_row + j * s_col, mask=here, other=-float("inf")).to(tl.float32)
    s = tl.where(i < M, s, 0.0)  # a row beyond the last: no -inf minus -inf
    e = tl.exp(s - tl.max(s, axis=1)[:, None])
    tl.store(p_ptr + i * p_row + j * p_col, e / tl.sum(e, axis=1)[:, None], mask=here)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    softmax_forward_kernel[(triton.cdiv(M, 2),)](
        s, p, M, N, *s.stride(), *p.stride(), ROWS=2, BLOCK=triton.next_power_of_2(N)
    )
    return p
