# label: wrong
# title: s = tl.where((c < N)[None, :], s,
# says: The first pass sums over hidden keys too: LSE is too large and O too small.
# names: mask after l; rows do not sum to 1
# base: right_logsumexp_in_first_pass_p_exp_s_minus_lse_in_second

# --- replace
        s = tl.where((c[None, :] <= r[:, None] + N - M) & (c < N)[None, :], s, -float("inf"))
# --- with
        s = tl.where((c < N)[None, :], s, -float("inf"))
