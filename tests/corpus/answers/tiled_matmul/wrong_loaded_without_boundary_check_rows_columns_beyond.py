# label: wrong
# title: block pointers, no boundary_check of A
# says: A is loaded without boundary_check: rows and columns beyond the matrix are read.
# names: out_of_bounds

@triton.jit
def blocks_kernel(a_ptr, b_ptr, c_ptr, M, N, K, sam, sak, sbk, sbn, BLOCK: tl.constexpr):
    pm, pn = tl.program_id(0), tl.program_id(1)
    a = tl.make_block_ptr(a_ptr, (M, K), (sam, sak), (pm * BLOCK, 0), (BLOCK, BLOCK), (1, 0))
    b = tl.make_block_ptr(b_ptr, (K, N), (sbk, sbn), (0, pn * BLOCK), (BLOCK, BLOCK), (1, 0))
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for _ in range(0, K, BLOCK):
        left = tl.load(a)
        acc += tl.dot(left, tl.load(b, boundary_check=(0, 1)), input_precision="ieee")
        a = tl.advance(a, (0, BLOCK))
        b = tl.advance(b, (BLOCK, 0))
    c = tl.make_block_ptr(c_ptr, (M, N), (N, 1), (pm * BLOCK, pn * BLOCK), (BLOCK, BLOCK), (1, 0))
    tl.store(c, acc.to(c_ptr.dtype.element_ty), boundary_check=(0, 1))


def blocks(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype)
    grid = (triton.cdiv(M, 32), triton.cdiv(N, 32))
    blocks_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), BLOCK=32)
    return c
