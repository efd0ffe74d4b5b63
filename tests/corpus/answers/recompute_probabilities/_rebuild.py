# part: a text that answers change

@triton.jit
def rebuild(S, L, P, R, C, s0, s1, l0, per_line, TR: tl.constexpr, TC: tl.constexpr):
    tile = tl.program_id(0)
    r = (tile // per_line) * TR + tl.arange(0, TR)
    c = (tile % per_line) * TC + tl.arange(0, TC)
    live = (r[:, None] < R) & (c[None, :] < C)
    lse = tl.load(L + r * l0, mask=r < R, other=0.0)[:, None]
    x = tl.load(S + r[:, None] * s0 + c[None, :] * s1, mask=live, other=-float("inf")).to(tl.float32)
    e = tl.where(lse > -float("inf"), tl.exp(x - lse), 0.0)
    tl.store(P + r[:, None] * C + c[None, :], e, mask=live)


def launcher(s, lse):
    R, C = s.shape
    p = torch.empty((R, C), dtype=s.dtype, device=s.device)
    down, across = triton.cdiv(R, 16), triton.cdiv(C, 16)
    rebuild[(down * across,)](s, lse, p, R, C, *s.stride(), lse.stride(0), across, TR=16, TC=16)
    return p
