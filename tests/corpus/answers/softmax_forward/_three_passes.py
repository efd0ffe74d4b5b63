# part: a text that answers change

@triton.jit
def softmax3(S, P, cols, s_r, s_c, p_r, CHUNK: tl.constexpr):
    row = tl.program_id(0)
    S += row * s_r
    P += row * p_r
    lane = tl.arange(0, CHUNK)
    top = tl.full((CHUNK,), -float("inf"), tl.float32)
    for c in range(0, cols, CHUNK):
        x = tl.load(S + (c + lane) * s_c, mask=c + lane < cols, other=-float("inf"))
        top = tl.maximum(top, x.to(tl.float32))
    m = tl.max(top, axis=0)
    z = 0.0
    for c in range(0, cols, CHUNK):
        x = tl.load(S + (c + lane) * s_c, mask=c + lane < cols, other=-float("inf"))
        z += tl.sum(tl.exp(x.to(tl.float32) - m), axis=0)
    for c in range(0, cols, CHUNK):
        x = tl.load(S + (c + lane) * s_c, mask=c + lane < cols, other=-float("inf"))
        tl.store(P + c + lane, tl.exp(x.to(tl.float32) - m) / z, mask=c + lane < cols)


def launcher(s):
    p = torch.empty(s.shape, dtype=s.dtype, device=s.device)
    softmax3[(s.shape[0],)](s, p, s.shape[1], s.stride(0), s.stride(1), p.stride(0), CHUNK=16)
    return p
