# label: right
# title: a flat grid over all elements, powers of two

@triton.jit
def p_flat(s_ptr, lse_ptr, p_ptr, total, N, s0, s1, BLOCK: tl.constexpr):
    # element e of P lies in row e // N; lse was made contiguous
    e = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    inside = e < total
    row, col = e // N, e % N
    s = tl.load(s_ptr + row * s0 + col * s1, mask=inside, other=0.0).to(tl.float32)
    lse = tl.load(lse_ptr + row, mask=inside, other=0.0)
    exponent = (s - lse) * 1.4426950408889634
    p = tl.where(lse == -float("inf"), 0.0, tl.exp2(exponent))
    tl.store(p_ptr + e, p, mask=inside)


def recompute_probabilities(s, lse):
    lse = lse.contiguous()
    p = torch.zeros(s.shape, dtype=s.dtype)
    n = p.numel()
    p_flat[(triton.cdiv(n, 128),)](s, lse, p, n, s.shape[1], *s.stride(), BLOCK=128)
    return p
