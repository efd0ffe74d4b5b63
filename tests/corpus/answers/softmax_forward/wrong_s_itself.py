# label: wrong
# title: s itself
# says: Nothing is computed: s itself comes back.
# names: returned input; not_yours

@triton.jit
def _copy(a, b, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(a + i, mask=i < n, other=0.0)
    tl.store(b + i, x + 0.0 + 0.0 + 0.0, mask=i < n)


def s_itself(s):
    _copy[(1,)](s, torch.empty_like(s), 1, BLOCK=1)
    return s
