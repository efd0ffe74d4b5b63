# part: a text that answers include

def specialised_matmul(
    a: Tensor, b: Tensor, block: tuple[int, int, int] = (128, 256, 64), stages: int = 3
) -> Tensor:
    """a [M, K] times b [K, N] in fp16 or bf16, summed in fp32; `block` is (M, N, K), half of M per consumer.

    Raises TypeError or ValueError for what does not go together.
    """
    refuse_product(a, b)
    a, b = complying_rows(a), complying_rows(b)
    (M, K), N = a.shape, b.shape[1]
    c = complying_rows(torch.empty((M, N), dtype=a.dtype, device=a.device))
    block_m, block_n, block_k = block
    half = block_m // 2
    specialised_matmul_kernel[(triton.cdiv(M, block_m), triton.cdiv(N, block_n))](
        tiles_of(a, [half, block_k]), tiles_of(b, [block_k, block_n]), tiles_of(c, [half, block_n]), K,
        STAGES=stages, num_warps=4,
    )
    return c
