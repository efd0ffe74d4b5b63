# part: a text that answers include

def wgmma_matmul(
    a: Tensor, b: Tensor, block: tuple[int, int, int] = (128, 128, 64), stages: int = 4
) -> Tensor:
    """a [M, K] times b [K, N] in fp16 or bf16, summed in fp32; `block` is (M, N, K), `stages` is 3 or more.

    Raises TypeError or ValueError for what does not go together.
    """
    refuse_product(a, b)
    a, b = complying_rows(a), complying_rows(b)
    (M, K), N = a.shape, b.shape[1]
    c = complying_rows(torch.empty((M, N), dtype=a.dtype, device=a.device))
    block_m, block_n, block_k = block
    wgmma_matmul_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, block_n))](
        tiles_of(a, [block_m, block_k]), tiles_of(b, [block_k, block_n]), tiles_of(c, [block_m, block_n]), K,
        STAGES=stages, num_warps=block_m // 16 if block_m < 128 else 8,
    )
    return c
