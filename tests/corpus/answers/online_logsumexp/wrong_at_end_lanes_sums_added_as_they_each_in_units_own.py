# label: wrong
# title: lanes merged by sum(l)
# says: At the end the lanes' sums are added as they are, each in units of its own lane's maximum: they must
#   be brought to the common maximum first.
# names: lanes not brought together

@triton.jit
def lse_lanes(X, L, n, x0, x1, W: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    w = tl.arange(0, W)
    m = tl.full((W,), -float("inf"), tl.float32)
    l = tl.zeros((W,), tl.float32)
    for c in range(0, n, W):
        x = tl.load(X + row * x0 + (c + w) * x1, mask=c + w < n, other=-float("inf")).to(tl.float32)
        m2 = tl.maximum(m, x)
        safe = tl.where(m2 == -float("inf"), 0.0, m2)
        l = l * tl.exp(m - safe) + tl.exp(x - safe)
        m = m2
    top = tl.max(m, axis=0)
    base = tl.where(top == -float("inf"), 0.0, top)
    total = tl.sum(l, axis=0)
    tl.store(L + row, top + tl.log(total))


def launcher(x):
    lse = torch.empty(x.shape[0], dtype=torch.float32, device=x.device)
    lse_lanes[(x.shape[0],)](x, lse, x.shape[1], x.stride(0), x.stride(1), W=16)
    return lse
