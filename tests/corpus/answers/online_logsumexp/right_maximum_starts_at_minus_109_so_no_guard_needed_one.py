# label: right
# title: the maximum starts at −10⁹, so that no guard is needed; one exponential by abs

@triton.jit
def finite_start(x_ptr, lse_ptr, n_cols, stride_row, stride_col, BLOCK: tl.constexpr):
    x_ptr += tl.program_id(0).to(tl.int64) * stride_row
    m_prev, d_prev = -1.0e9, 0.0
    for off in range(0, n_cols, BLOCK):
        cols = off + tl.arange(0, BLOCK)
        xs = tl.load(x_ptr + cols * stride_col, mask=cols < n_cols, other=-float("inf")).to(tl.float32)
        m_blk = tl.maximum(tl.max(xs, axis=0), -1.0e9)
        d_blk = tl.sum(tl.exp(xs - m_blk), axis=0)
        gap = tl.exp(-tl.abs(m_prev - m_blk))
        d_prev = tl.where(m_blk > m_prev, d_prev * gap + d_blk, d_prev + d_blk * gap)
        m_prev = tl.maximum(m_prev, m_blk)
    tl.store(lse_ptr + tl.program_id(0), tl.log(d_prev) + m_prev)


def launcher(x):
    lse = torch.empty(x.size(0), dtype=torch.float32, device=x.device)
    finite_start[(x.size(0),)](x, lse, x.size(1), x.stride(0), x.stride(1), BLOCK=32)
    return lse
