# part: a text that answers include

def fused_backward_rows(
    q: Tensor, k: Tensor, v: Tensor, o: Tensor, do: Tensor, lse: Tensor, alpha: float, causal: bool,
    block: int | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """The same where a program owns queries; the last bits of dK and dV depend on the programs' order."""
    refuse_far_rows(q=q, k=k, v=v, do=do)
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    delta = delta_preprocess(o, do)
    dq = torch.empty((B, H, S_q, D), dtype=q.dtype, device=q.device)
    dk = torch.zeros((B, H, S_k, D), dtype=torch.float32, device=k.device)
    dv = torch.zeros((B, H, S_k, D), dtype=torch.float32, device=v.device)
    half = q.element_size() == 2
    BLOCK = block or (64 if q.is_cuda and half else 32)
    BLOCK_D = max(16, triton.next_power_of_2(D))
    fused_rows_kernel[(triton.cdiv(S_q, BLOCK), H, B)](
        q, k, v, do, lse.contiguous(), delta, dq, dk, dv, alpha, S_q, S_k, D,
        *q.stride(), *k.stride(), *v.stride(), *do.stride(),
        BLOCK_Q=BLOCK, BLOCK_K=BLOCK, BLOCK_D=BLOCK_D, IS_CAUSAL=causal,
        num_warps=4 if half and BLOCK_D <= 64 else 8, num_stages=3 if half else 1,
    )
    return dq, dk.to(k.dtype), dv.to(v.dtype)
