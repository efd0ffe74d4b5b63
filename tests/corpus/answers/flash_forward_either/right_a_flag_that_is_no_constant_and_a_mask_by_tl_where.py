# label: right
# title: a flag that is no constant, and a mask by tl.where
# base: _attention_kernel

# --- replace
    CAUSAL: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,
# --- with
    CAUSAL, BM: tl.constexpr, BN: tl.constexpr, BD: tl.constexpr,

# --- replace
    head = tl.program_id(1).to(tl.int64)
# --- with
    head = tl.program_id(0).to(tl.int64)

# --- replace
    m = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
# --- with
    m = tl.program_id(1).to(tl.int64) * BM + tl.arange(0, BM)

# --- replace
        last = tl.minimum(S_k, (tl.program_id(0) + 1) * BM + S_k - S_q)
# --- with
        last = tl.minimum(S_k, (tl.program_id(1) + 1) * BM + S_k - S_q)

# --- replace
        if CAUSAL:
            seen = seen & (at[None, :] <= m[:, None] + S_k - S_q)
# --- with
        seen = seen & ((CAUSAL == 0) | (at[None, :] <= m[:, None] + S_k - S_q))

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
    attention_kernel[(B * H, triton.cdiv(S_q, 16))](
        q, k, v, o, lse, alpha, H, S_q, S_k, D, *q.stride(), *k.stride(), *v.stride(), *o.stride(),
        CAUSAL=int(causal), BM=16, BN=16, BD=BD,
    )
    return o, lse
