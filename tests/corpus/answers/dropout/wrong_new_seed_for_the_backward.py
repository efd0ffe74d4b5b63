# label: wrong
# title: another seed in the backward pass
# says: The backward pass drops other weights than the forward pass did.
# names: another mask for the gradients; one edit
# base: _as_taught

# --- replace
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, hooks)
# --- with
    again = Hooks(weights=kept_weights, extras=(p, seed + 1, q.shape[1]))
    return o, lse, *hooked_backward(q, k, v, o, do, lse, alpha, again)
