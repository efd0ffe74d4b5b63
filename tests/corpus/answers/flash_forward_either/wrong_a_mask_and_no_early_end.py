# label: wrong
# title: a mask, and no early end
# says: Hidden tiles are multiplied.
# names: grid axis too short; review
# base: _attention_kernel

# --- replace
    if CAUSAL:
        last = tl.minimum(S_k, (tl.program_id(0) + 1) * BM + S_k - S_q)
# --- with


# --- replace
    tl.store(L + head * S_q + m, top + tl.log(total), mask=m < S_q)
# --- with
    tl.store(L + head * S_q + m, top + tl.log(total), mask=m < S_q)


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
