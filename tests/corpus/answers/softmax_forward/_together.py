# part: a text that answers change

@triton.jit
def softmax_rows(src, dst, n_rows, n_cols, stride_r, stride_c, TILE: tl.constexpr, COLS: tl.constexpr):
    r = tl.program_id(0) * TILE + tl.arange(0, TILE)[:, None]
    c = tl.arange(0, COLS)[None, :]
    inside = (r < n_rows) & (c < n_cols)
    x = tl.load(src + r * stride_r + c * stride_c, mask=inside, other=-float("inf")).to(tl.float32)
    peak = tl.max(x, axis=1, keep_dims=True)
    peak = tl.where(peak == -float("inf"), 0.0, peak)
    num = tl.exp(x - peak)
    den = tl.sum(num, axis=1, keep_dims=True)
    tl.store(dst + r * n_cols + c, num / den, mask=inside)


def launcher(s):
    p = s.new_empty(s.shape)
    n_rows, n_cols = s.shape
    grid = (triton.cdiv(n_rows, 2),)
    softmax_rows[grid](s, p, n_rows, n_cols, *s.stride(), TILE=2, COLS=triton.next_power_of_2(n_cols))
    return p
