# part: a text that answers change
# base: dkv_kernel_causal/_dkv_causal_by_the_notebook

# --- replace
    first = tl.maximum(0, tl.program_id(0) * BLOCK_K - (S_k - S_q))
    first = first // BLOCK_Q * BLOCK_Q
# --- with
    first = 0

# --- replace
        pp = tl.where(live[:, None] & (columns[None, :] <= rows[:, None] + S_k - S_q), pp, 0.0)
# --- with
        pp = tl.where(live[:, None], pp, 0.0)

# --- replace
def dkv_kernel_causal(q, k, v, o, do, lse, alpha):
# --- with
def dkv_kernel(q, k, v, o, do, lse, alpha):
