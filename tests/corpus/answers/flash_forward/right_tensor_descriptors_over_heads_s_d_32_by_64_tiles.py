# label: right
# title: tensor descriptors over [heads, S, D], 32 × 64 tiles

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
def descriptor_kernel(q_ptr, k_ptr, v_ptr, o_ptr, lse_ptr, scale, BH, M, N,
                      BD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    q_desc = tl.make_tensor_descriptor(q_ptr, [BH, M, BD], [M * BD, BD, 1], [1, BM, BD])
    k_desc = tl.make_tensor_descriptor(k_ptr, [BH, N, BD], [N * BD, BD, 1], [1, BN, BD])
    v_desc = tl.make_tensor_descriptor(v_ptr, [BH, N, BD], [N * BD, BD, 1], [1, BN, BD])
    o_desc = tl.make_tensor_descriptor(o_ptr, [BH, M, BD], [M * BD, BD, 1], [1, BM, BD])
    bh, first = tl.program_id(0), tl.program_id(1) * BM
    q = q_desc.load([bh, first, 0]).reshape(BM, BD)
    m = tl.full((BM,), -float("inf"), tl.float32)
    l = tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, BD), tl.float32)
    for j0 in tl.range(0, N, BN):
        k = k_desc.load([bh, j0, 0]).reshape(BN, BD)
        v = v_desc.load([bh, j0, 0]).reshape(BN, BD)
        m, l, acc = online_step(q, k, v, scale, j0 + tl.arange(0, BN) < N, m, l, acc)
    o = (acc / l[:, None]).to(o_ptr.dtype.element_ty)
    o_desc.store([bh, first, 0], o.reshape(1, BM, BD))
    rows = first + tl.arange(0, BM)
    tl.store(lse_ptr + bh * M + rows, m + tl.log(l), mask=rows < M)


def with_descriptors(q, k, v, alpha):
    B, H, M, D = q.shape
    N, BD = k.shape[2], max(16, triton.next_power_of_2(D))
    padded = [F.pad(t, (0, BD - D)).contiguous() for t in (q, k, v)]
    o, lse = torch.empty_like(padded[0]), torch.empty(B, H, M)
    descriptor_kernel[(B * H, triton.cdiv(M, 32))](*padded, o, lse, alpha, B * H, M, N, BD=BD, BM=32, BN=64)
    return o[..., :D].contiguous(), lse
