# label: wrong
# title: the backward pass has no bias
# says: P is rebuilt without the bias.
# names: no bias in the backward pass
# base: right_by_hook

# --- replace
    dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, hooks)
# --- with
    plain = Hooks(mask=causal_mask, keys=causal_keys, queries=causal_queries)
    dq, dk, dv = hooked_backward(q, k, v, o, do, lse, alpha, plain)
