# label: right
# title: block pointers, the grid's axes the other way round

@triton.jit
def mm_blocks(a_ptr, b_ptr, c_ptr, M, N, K, a0, a1, b0, b1, c0, c1, BM: tl.constexpr, BN: tl.constexpr):
    pm, pn = tl.program_id(1), tl.program_id(0)
    a_at = tl.make_block_ptr(a_ptr, (M, K), (a0, a1), (pm * BM, 0), (BM, 32), (1, 0))
    b_at = tl.make_block_ptr(b_ptr, (K, N), (b0, b1), (0, pn * BN), (32, BN), (1, 0))
    acc = tl.zeros((BM, BN), tl.float32)
    for _ in range(tl.cdiv(K, 32)):
        a = tl.load(a_at, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_at, boundary_check=(0, 1), padding_option="zero")
        acc = tl.dot(a, b, acc, input_precision="ieee")
        a_at, b_at = tl.advance(a_at, (0, 32)), tl.advance(b_at, (32, 0))
    c_at = tl.make_block_ptr(c_ptr, (M, N), (c0, c1), (pm * BM, pn * BN), (BM, BN), (1, 0))
    tl.store(c_at, acc.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


def tiled_matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty(M, N, dtype=a.dtype)
    grid = (triton.cdiv(N, 64), triton.cdiv(M, 16))
    mm_blocks[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(), BM=16, BN=64)
    return c
