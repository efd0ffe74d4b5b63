# part: a text that answers include

def dq_without_delta(q: Tensor, k: Tensor, v: Tensor, do: Tensor, lse: Tensor, alpha: float) -> Tensor:
    """dQ [B, H, S_q, D] in q's dtype, from lse [B, H, S_q] and without O."""
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    BLOCK = 64 if q.is_cuda and q.element_size() == 2 else 32
    BLOCK_D = max(16, triton.next_power_of_2(D))  # tl.dot wants 16 at least
    # not 3: at D = 128 a program then takes 96 KiB of shared memory instead of 128, and two fit on a
    # multiprocessor of an H100 (228 KiB) instead of one
    STAGES = 2
    dq_without_delta_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), dq, alpha, H, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(), *dq.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, num_stages=STAGES,
    )
    return dq
