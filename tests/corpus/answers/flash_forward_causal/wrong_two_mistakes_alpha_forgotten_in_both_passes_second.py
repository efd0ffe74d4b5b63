# label: wrong
# title: a = 1.0 q = tl.load(q_ptr / seen = (c[None, :] <= r[:, None] + N - M + 1)
# says: Two mistakes: alpha is forgotten in both passes, and the second one shows a key too many.
# names: alpha forgotten + one key too many
# base: right_logsumexp_in_first_pass_p_exp_s_minus_lse_in_second

# --- replace
    q = tl.load(q_ptr + (bh * M + r)[:, None] * D + d, mask=(r < M)[:, None] & (d < D), other=0.0)
# --- with
    a = 1.0
    q = tl.load(q_ptr + (bh * M + r)[:, None] * D + d, mask=(r < M)[:, None] & (d < D), other=0.0)

# --- replace
        seen = (c[None, :] <= r[:, None] + N - M) & (c < N)[None, :]
# --- with
        seen = (c[None, :] <= r[:, None] + N - M + 1) & (c < N)[None, :]
