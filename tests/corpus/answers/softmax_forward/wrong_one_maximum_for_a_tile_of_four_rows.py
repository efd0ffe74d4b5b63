# label: wrong
# title: one maximum for a tile of four rows
# says: `tl.max(tile)` without an axis is one maximum for the four rows of the program. In exact arithmetic it
#   cancels, but a row that lies more than 104 below it has only zeros: 0/0 is NaN. Take axis=1, one maximum
#   per row (rows at 100 and −200 show it).
# names: one maximum for several rows; zero over zero

@triton.jit
def softmax_forward_kernel(
    s_ptr, p_ptr, M, N, s_row, s_col, p_row, p_col, ROWS: tl.constexpr, BLOCK: tl.constexpr
):
    r = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    c = tl.arange(0, BLOCK)
    mask = (r < M)[:, None] & (c < N)[None, :]
    tile = tl.load(
        s_ptr + r[:, None] * s_row + c[None, :] * s_col, mask=mask, other=-float("inf")
    ).to(tl.float32)
    biggest = tl.max(tile)
    e = tl.exp(tile - biggest)
    z = tl.sum(e, axis=1)
    p = e / z[:, None]
    tl.store(p_ptr + r[:, None] * p_row + c[None, :] * p_col, p, mask=mask)

def softmax_forward(s):
    M, N = s.shape
    p = torch.empty((M, N), dtype=s.dtype, device=s.device)
    softmax_forward_kernel[(triton.cdiv(M, 4),)](
        s, p, M, N, *s.stride(), *p.stride(), ROWS=4, BLOCK=triton.next_power_of_2(N)
    )
    return p
