# label: wrong
# title: the backward pass drops nothing
# says: The gradients are those of attention without dropout, with the O of attention with it.
# names: no dropout in the backward pass; dP without the gaps; dV without the gaps; one edit
# base: _as_taught

# --- replace
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)
# --- with
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha)
