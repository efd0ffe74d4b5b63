# label: wrong
# title: unseen: no guard for LSE
# says: A query that saw nothing has LSE -inf, and -inf minus -inf is NaN: no guard.
# names: no guard for queries that see nothing; inf minus inf
# base: _dq_causal_by_the_notebook

# --- replace
    L = tl.where(L == -float("inf"), float("inf"), L)
# --- with
