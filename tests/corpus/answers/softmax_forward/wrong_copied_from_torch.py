# label: wrong
# title: copied from torch
# says: torch.softmax is the answer, and the kernel only copies it.
# names: not_yours

def copied_from_torch(s):
    done = torch.softmax(s.float(), dim=1).to(s.dtype)
    out = torch.empty_like(done)
    _copy[(triton.cdiv(done.numel(), 64),)](done, out, done.numel(), BLOCK=64)
    return out


@triton.jit
def _copy(a, b, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + i, mask=i < n, other=0.0)
    tl.store(b + i, x + 0.0 + 0.0 + 0.0, mask=i < n)
