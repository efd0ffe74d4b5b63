# label: right
# title: p ∘ dp reused, p taken out of the bracket

@triton.jit
def bwd_row(p_ptr, g_ptr, out_ptr, n, p0, p1, g0, g1, o0, BLOCK: tl.constexpr):
    r = tl.program_id(0).to(tl.int64)
    c = tl.arange(0, BLOCK)
    live = c < n
    p = tl.load(p_ptr + r * p0 + c * p1, mask=live, other=0.0).to(tl.float32)
    g = tl.load(g_ptr + r * g0 + c * g1, mask=live, other=0.0).to(tl.float32)
    pg = p * g
    # p ∘ dp − p ⟨p, dp⟩
    out = pg - p * tl.sum(pg, axis=0)
    tl.store(out_ptr + r * o0 + c, out, mask=live)


def softmax_backward(p, dp):
    M, N = p.shape
    ds = torch.empty((M, N), dtype=p.dtype)
    bwd_row[(M,)](p, dp, ds, N, *p.stride(), *dp.stride(), N, BLOCK=max(16, triton.next_power_of_2(N)))
    return ds
