# label: right
# title: three programs that take blocks in turns, 64 × 16, D padded to 64 at least

# INCLUDE: _one_block


@triton.jit
def persistent_kernel(Q, K, V, O, L, alpha, M, N, D, heads, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    blocks = tl.cdiv(M, BM)
    for item in range(tl.program_id(0), blocks * heads, tl.num_programs(0)):
        one_block(item % blocks, item // blocks, Q, K, V, O, L, alpha, M, N, D, BM, BN, BD)


def persistent(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, M, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, M)
    persistent_kernel[(3,)](
        q, k, v, o, lse, alpha, M, k.shape[2], D, B * H, BM=64, BN=16, BD=max(64, triton.next_power_of_2(D))
    )
    return o, lse
