# label: wrong
# title: last short step over K left out
# says: `range(K // BLOCK_K)` rounds down: the last K % 16 columns of a and rows of b are never multiplied
#   (for K < 16 C is 0). Round up; boundary_check already pads with zeros.
# names: last block of K left out

@triton.jit
def tiled_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K, a_row, a_col, b_row, b_col, c_row, c_col,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):
    top = tl.program_id(0) * BLOCK_M
    left = tl.program_id(1) * BLOCK_N
    a_block = tl.make_block_ptr(a_ptr, (M, K), (a_row, a_col), (top, 0), (BLOCK_M, BLOCK_K), (1, 0))
    b_block = tl.make_block_ptr(b_ptr, (K, N), (b_row, b_col), (0, left), (BLOCK_K, BLOCK_N), (1, 0))
    c_block = tl.make_block_ptr(c_ptr, (M, N), (c_row, c_col), (top, left), (BLOCK_M, BLOCK_N), (1, 0))
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for _ in range(K // BLOCK_K):
        a = tl.load(a_block, boundary_check=(0, 1), padding_option="zero")
        b = tl.load(b_block, boundary_check=(0, 1), padding_option="zero")
        acc += tl.dot(a, b, input_precision="ieee")
        a_block = tl.advance(a_block, (0, BLOCK_K))
        b_block = tl.advance(b_block, (BLOCK_K, 0))
    tl.store(c_block, acc.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))

def tiled_matmul(
    a, b, BLOCK_M = 32, BLOCK_N = 64, BLOCK_K = 16, **options
):
    M, K = a.shape
    N = b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    grid = (triton.cdiv(M, BLOCK_M), triton.cdiv(N, BLOCK_N))
    tiled_matmul_kernel[grid](
        a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride(),
        BLOCK_M=BLOCK_M, BLOCK_N=BLOCK_N, BLOCK_K=BLOCK_K, **options,
    )
    return c
