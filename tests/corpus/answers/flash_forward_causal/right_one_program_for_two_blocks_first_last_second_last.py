# label: right
# title: one program for two blocks, the first and the last, the second and the last but one, …; D padded to
#   32
# base: _one_block

# --- replace
    tl.store(L + bh * M + i, top + tl.log(total), mask=i < M)
# --- with
    tl.store(L + bh * M + i, top + tl.log(total), mask=i < M)


@triton.jit
def paired_kernel(Q, K, V, O, L, alpha, M, N, D, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr):
    # a short block and a long one: every program has the same work
    first = tl.program_id(1)
    last = tl.cdiv(M, BM) - 1 - first
    one_block(first, tl.program_id(0), Q, K, V, O, L, alpha, M, N, D, BM, BN, BD)
    if last > first:
        one_block(last, tl.program_id(0), Q, K, V, O, L, alpha, M, N, D, BM, BN, BD)


def two_blocks_each(q, k, v, alpha):
    q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
    B, H, M, D = q.shape
    o, lse = torch.empty_like(q), torch.empty(B, H, M)
    grid = (B * H, triton.cdiv(triton.cdiv(M, 32), 2))
    paired_kernel[grid](q, k, v, o, lse, alpha, M, k.shape[2], D, BM=32, BN=32, BD=max(32, triton.next_power_of_2(D)))
    return o, lse
