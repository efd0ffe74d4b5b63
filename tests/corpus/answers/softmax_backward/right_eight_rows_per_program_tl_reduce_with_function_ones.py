# label: right
# title: eight rows per program, tl.reduce with a function of one's own

@triton.jit
def _dot_rows(p_ptr, dp_ptr, ds_ptr, M, N, p0, p1, d0, d1, BM: tl.constexpr, BN: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)[:, None]
    j = tl.arange(0, BN)[None, :]
    inside = (i < M) & (j < N)
    p = tl.where(inside, tl.load(p_ptr + i * p0 + j * p1, mask=inside, other=0.0), 0.0).to(tl.float32)
    dp = tl.load(dp_ptr + i * d0 + j * d1, mask=inside, other=0.0).to(tl.float32)
    delta = tl.reduce(p * dp, 1, _add, keep_dims=True)
    tl.store(ds_ptr + i * N + j, p * (dp - delta), mask=inside)


@triton.jit
def _add(a, b):
    return a + b


def tiles_by_reduce(p, dp):
    M, N = p.shape
    ds = torch.empty(M, N, dtype=p.dtype)
    _dot_rows[(triton.cdiv(M, 8),)](
        p, dp, ds, M, N, *p.stride(), *dp.stride(), BM=8, BN=triton.next_power_of_2(N)
    )
    return ds
