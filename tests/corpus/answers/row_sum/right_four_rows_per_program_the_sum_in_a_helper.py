# label: right
# title: four rows per program, the sum in a helper

@triton.jit
def sum_of(values):
    return tl.sum(values.to(tl.float32), axis=1)


@triton.jit
def rows_kernel(x, s, R, C, sr, sc, BR: tl.constexpr, BC: tl.constexpr):
    r = tl.program_id(0) * BR + tl.arange(0, BR)
    c = tl.arange(0, BC)
    ok = (r[:, None] < R) & (c[None, :] < C)
    tile = tl.load(x + r[:, None] * sr + c[None, :] * sc, mask=ok, other=0.0)
    tl.store(s + r, sum_of(tile), mask=r < R)


def row_sum(x):
    R, C = x.shape
    s = x.new_empty(R)
    BR = 4
    rows_kernel[(triton.cdiv(R, BR),)](x, s, R, C, *x.stride(), BR=BR, BC=triton.next_power_of_2(C))
    return s
