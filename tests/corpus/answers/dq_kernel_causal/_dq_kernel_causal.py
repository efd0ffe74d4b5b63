# part: a text that answers include

def dq_kernel_causal(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float,
    block: int | None = None,
) -> Tensor:
    """The same where query i saw the keys j ≤ i + S_k − S_q; where that is none LSE is −inf, and dQ = 0."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = block or (64 if q.is_cuda and q.element_size() == 2 else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    STAGES = 2  # as without a mask: two programs share a multiprocessor
    flash_dq_causal_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return dq
