# label: right
# title: a block pointer that advances along the row

@triton.jit
def _block_pointer_sum(x_ptr, out_ptr, m, n, sr, sc, B: tl.constexpr):
    r = tl.program_id(0)
    p = tl.make_block_ptr(x_ptr, (m, n), (sr, sc), (r, 0), (1, B), (1, 0))
    acc = tl.zeros([1, B], tl.float32)
    for _ in range(tl.cdiv(n, B)):
        acc += tl.load(p, boundary_check=(0, 1), padding_option="zero").to(tl.float32)
        p = tl.advance(p, (0, B))
    tl.store(out_ptr + r, tl.sum(tl.reshape(acc, [B]), axis=0))


def by_a_block_pointer(x):
    out = torch.empty(x.shape[0], dtype=x.dtype)
    _block_pointer_sum[(x.shape[0],)](x, out, *x.shape, *x.stride(), B=16)
    return out
