# part: a text that answers include

def fused_backward_atomic(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float, causal: bool,
    block: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """dQ, dK, dV, each in its input's dtype. A program owns keys; dQ's last bits depend on their order."""
    refuse_far_rows(q=q, k=k, v=v, do=do)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.zeros((B, H, S_q, D), dtype=torch.float32, device=q.device)  # a sum begins at 0
    dk = torch.empty((B, H, S_k, D), dtype=k.dtype, device=k.device)
    dv = torch.empty((B, H, S_k, D), dtype=v.dtype, device=v.device)
    half = q.element_size() == 2  # fp32 takes twice the registers: more warps, and nothing loaded ahead
    BLOCK = block or (64 if q.is_cuda and half else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))  # tl.dot wants 16 at least
    fused_keys_kernel[(triton.cdiv(S_k, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dq, dk, dv, alpha, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, IS_CAUSAL=causal,
        num_warps=4 if half and BLOCK_D <= 64 else 8, num_stages=3 if half else 1,
    )
    return dq.to(q.dtype), dk, dv
