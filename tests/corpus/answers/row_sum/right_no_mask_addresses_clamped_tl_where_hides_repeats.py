# label: right
# title: no mask: addresses are clamped, and tl.where hides the repeats

@triton.jit
def _where_sum(x_ptr, out_ptr, n, sr, sc, BLOCK: tl.constexpr):
    r = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    safe = tl.minimum(c, n - 1)  # lanes beyond the row read its last element again
    v = tl.load(x_ptr + r * sr + safe * sc).to(tl.float32)
    tl.store(out_ptr + r, tl.sum(tl.where(c < n, v, 0.0)))


def clamped_and_hidden_by_where(x):
    out = torch.empty(x.shape[0], dtype=x.dtype)
    _where_sum[(x.shape[0],)](x, out, x.shape[1], *x.stride(), BLOCK=triton.next_power_of_2(x.shape[1]))
    return out
