# part: a text that answers change
# base: dq_kernel_causal/_dq_causal_by_the_notebook

# --- replace
    L = tl.where(L == -float("inf"), float("inf"), L)
    limit = rows[:, None] + (S_k - S_q)
    stop = tl.minimum(S_k, (tl.program_id(0) + 1) * BLOCK_Q + S_k - S_q)
    grad = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for t in range(0, tl.cdiv(stop, BLOCK_K)):
# --- with
    grad = tl.zeros((BLOCK_Q, BLOCK_D), tl.float32)
    for t in range(0, tl.cdiv(S_k, BLOCK_K)):

# --- replace
        S = tl.where((cols < S_k)[None, :] & (cols[None, :] <= limit), S, -float("inf"))
# --- with
        S = tl.where((cols < S_k)[None, :], S, -float("inf"))

# --- replace
def dq_kernel_causal(q, k, v, o, do, lse, alpha):
# --- with
def dq_kernel(q, k, v, o, do, lse, alpha):
