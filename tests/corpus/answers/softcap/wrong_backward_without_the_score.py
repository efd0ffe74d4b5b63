# label: wrong
# title: the backward pass has no cap
# says: P is rebuilt from scores that are not capped.
# names: P rebuilt from uncapped scores
# base: right_by_sigmoid

# --- replace
    dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, hooks)
# --- with
    plain = Hooks(mask=causal_mask, keys=causal_keys, queries=causal_queries)
    dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, plain)
