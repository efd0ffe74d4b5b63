# label: right
# title: keys split over two programs, merged by a second kernel; D padded by the launcher

import torch.nn.functional as F


@triton.jit
def online_step(q, k, v, scale, keep, m, l, acc):
    s = tl.where(keep[None, :], tl.dot(q, tl.trans(k), input_precision="ieee") * scale, -float("inf"))
    m_next = tl.maximum(m, tl.max(s, axis=1))
    shrink = tl.exp(m - m_next)
    e = tl.exp(s - m_next[:, None])
    acc = tl.dot(e.to(v.dtype), v, acc * shrink[:, None], input_precision="ieee")
    return m_next, l * shrink + tl.sum(e, axis=1), acc


@triton.jit
def split_kernel(q_ptr, k_ptr, v_ptr, part_o, part_m, part_l, scale, M, N, per_split,
                 BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # flash decoding: each program scans a share of the keys and leaves (m, l, acc) behind
    bh, split, mi = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    rows, d = mi * BM + tl.arange(0, BM), tl.arange(0, BD)
    q = tl.load(q_ptr + (bh * M + rows)[:, None] * BD + d, mask=(rows < M)[:, None], other=0.0)
    m = tl.full((BM,), -float("inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    stop = tl.minimum(N, (split + 1) * per_split)
    for j0 in range(split * per_split, stop, BN):
        cols = j0 + tl.arange(0, BN)
        ok = (cols < stop)[:, None]
        k = tl.load(k_ptr + (bh * N + cols)[:, None] * BD + d, mask=ok, other=0.0)
        v = tl.load(v_ptr + (bh * N + cols)[:, None] * BD + d, mask=ok, other=0.0)
        m, l, acc = online_step(q, k, v, scale, cols < stop, m, l, acc)
    at = (bh * tl.num_programs(1) + split) * M + rows
    tl.store(part_o + at[:, None] * BD + d, acc, mask=(rows < M)[:, None])
    tl.store(part_m + at, m, mask=rows < M)
    tl.store(part_l + at, l, mask=rows < M)


@triton.jit
def merge_kernel(part_o, part_m, part_l, o_ptr, lse_ptr, M, D, SPLITS: tl.constexpr, BD: tl.constexpr):
    bh, i = tl.program_id(0), tl.program_id(1)
    s, d = tl.arange(0, SPLITS), tl.arange(0, BD)
    at = (bh * SPLITS + s) * M + i
    m = tl.load(part_m + at)
    top = tl.max(m, 0)
    w = tl.exp(m - top)
    total = tl.sum(w * tl.load(part_l + at), 0)
    o = tl.sum(w[:, None] * tl.load(part_o + at[:, None] * BD + d), 0) / total
    tl.store(o_ptr + (bh * M + i) * D + d, o, mask=d < D)
    tl.store(lse_ptr + bh * M + i, top + tl.log(total))


def flash_decoding(q, k, v, alpha):
    B, H, M, D = q.shape
    N, BD = k.shape[2], max(16, triton.next_power_of_2(D))
    q, k, v = (F.pad(t, (0, BD - D)).contiguous() for t in (q, k, v))
    part_o = torch.empty(B * H, 2, M, BD)
    part_m, part_l = torch.empty(B * H, 2, M), torch.empty(B * H, 2, M)
    o, lse = torch.empty(B, H, M, D, dtype=q.dtype), torch.empty(B, H, M)
    grid = (B * H, 2, triton.cdiv(M, 32))
    split_kernel[grid](q, k, v, part_o, part_m, part_l, alpha, M, N, triton.cdiv(N, 2), BM=32, BN=16, BD=BD)
    merge_kernel[(B * H, M)](part_o, part_m, part_l, o, lse, M, D, SPLITS=2, BD=BD)
    return o, lse
