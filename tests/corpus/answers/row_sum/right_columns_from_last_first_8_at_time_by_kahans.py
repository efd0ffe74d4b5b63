# label: right
# title: columns from the last to the first, 8 at a time, by Kahan's compensated summation

@triton.jit
def kahan_k(x_ptr, s_ptr, rows, columns, x_r, x_c, LANES: tl.constexpr, ROWS: tl.constexpr):
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[None, :]
    big = tl.zeros((LANES, ROWS), tl.float32)
    small = tl.zeros((LANES, ROWS), tl.float32)
    for done in range(0, columns, LANES):
        j = columns - 1 - done - tl.arange(0, LANES)[:, None]
        x = tl.load(x_ptr + i * x_r + j * x_c, mask=(j >= 0) & (i < rows), other=0.0).to(tl.float32)
        y = x - small
        t = big + y
        small = (t - big) - y
        big = t
    s = tl.sum(big - small, axis=0)
    k = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    tl.store(s_ptr + k, s, mask=k < rows)


def launcher(x):
    s = x.new_empty(x.size(0))
    kahan_k[(triton.cdiv(x.size(0), 2),)](x, s, x.size(0), x.size(1), *x.stride(), LANES=8, ROWS=2)
    return s
