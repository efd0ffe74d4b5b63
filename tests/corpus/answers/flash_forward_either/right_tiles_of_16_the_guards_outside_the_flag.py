# label: right
# title: tiles of 16, the guards outside the flag

# INCLUDE: _attention_kernel


def flash_forward_either(q, k, v, alpha, causal):
    B, H, S_q, D = q.shape
    S_k = k.shape[2]
    o = torch.empty((B, H, S_q, D), dtype=q.dtype)
    lse = torch.empty((B, H, S_q), dtype=torch.float32)
    BD = max(16, triton.next_power_of_2(D))
    attention_kernel[(triton.cdiv(S_q, 16), B * H)](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        CAUSAL=causal, BM=16, BN=16, BD=BD,
    )
    return o, lse
