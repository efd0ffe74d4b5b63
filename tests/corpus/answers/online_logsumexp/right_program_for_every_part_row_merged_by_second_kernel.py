# label: right
# title: a program for every part of a row, merged by a second kernel

@triton.jit
def lse_parts(x_ptr, m_ptr, l_ptr, N, x_row, x_col, PART: tl.constexpr):
    i, part, parts = tl.program_id(0).to(tl.int64), tl.program_id(1), tl.num_programs(1)
    j = part * PART + tl.arange(0, PART)
    x = tl.load(x_ptr + i * x_row + j * x_col, mask=j < N, other=-float("inf")).to(tl.float32)
    m = tl.max(x, axis=0)
    shift = tl.where(m == -float("inf"), 0.0, m)
    tl.store(m_ptr + i * parts + part, m)
    tl.store(l_ptr + i * parts + part, tl.sum(tl.exp(x - shift), axis=0))


@triton.jit
def lse_of_parts(m_ptr, l_ptr, lse_ptr, parts, BLOCK: tl.constexpr):
    i, k = tl.program_id(0).to(tl.int64), tl.arange(0, BLOCK)
    m_k = tl.load(m_ptr + i * parts + k, mask=k < parts, other=-float("inf"))
    l_k = tl.load(l_ptr + i * parts + k, mask=k < parts, other=0.0)
    m = tl.max(m_k, axis=0)
    shift = tl.where(m == -float("inf"), 0.0, m)
    tl.store(lse_ptr + i, m + tl.log(tl.sum(l_k * tl.exp(m_k - shift), axis=0)))


def online_logsumexp(x):
    M, N = x.shape
    parts = triton.cdiv(N, 64)
    m, l = torch.empty(2, M, parts, device=x.device)
    lse = torch.empty(M, dtype=torch.float32, device=x.device)
    lse_parts[(M, parts)](x, m, l, N, *x.stride(), PART=64)
    lse_of_parts[(M,)](m, l, lse, parts, BLOCK=triton.next_power_of_2(parts))
    return lse
