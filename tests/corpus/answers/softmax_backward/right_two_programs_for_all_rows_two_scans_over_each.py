# label: right
# title: two programs for all rows, two scans over each

@triton.jit
def inner_product(p_row, dp_row, n, p_step, dp_step, BLOCK: tl.constexpr):
    acc = tl.zeros((BLOCK,), tl.float32)
    for start in tl.range(0, n, BLOCK):
        j = start + tl.arange(0, BLOCK)
        pj = tl.load(p_row + j * p_step, mask=j < n, other=0.0)
        dpj = tl.load(dp_row + j * dp_step, mask=j < n, other=0.0)
        acc += pj.to(tl.float32) * dpj.to(tl.float32)
    return tl.sum(acc, axis=0)


@triton.jit
def backward_scan(P, DP, DS, rows, n, p0, p1, d0, d1, s0, s1, BLOCK: tl.constexpr):
    for i in range(tl.program_id(0).to(tl.int64), rows, tl.num_programs(0)):
        mean = inner_product(P + i * p0, DP + i * d0, n, p1, d1, BLOCK)
        for start in range(0, n, BLOCK):
            j = start + tl.arange(0, BLOCK)
            pj = tl.load(P + i * p0 + j * p1, mask=j < n, other=0.0).to(tl.float32)
            dpj = tl.load(DP + i * d0 + j * d1, mask=j < n, other=0.0).to(tl.float32)
            tl.store(DS + i * s0 + j * s1, pj * (dpj - mean), mask=j < n)


def softmax_backward(p, dp):
    ds = torch.zeros(p.shape, dtype=p.dtype)
    backward_scan[(2,)](p, dp, ds, *p.shape, *p.stride(), *dp.stride(), *ds.stride(), BLOCK=16)
    return ds
