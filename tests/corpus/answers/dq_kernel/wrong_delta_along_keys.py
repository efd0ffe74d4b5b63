# label: wrong
# title: delta along keys
# says: two: line g = p * (dp - dl[None, :]) gives key j the delta of query j; and grad *= alpha is missing at
#   the end
# names: alpha is missing from dQ + delta along the keys
# base: wrong_no_mask_on_scores

# --- replace
        p = tl.exp(s - lse[:, None])
# --- with
        s = tl.where(k_in[None, :], s, -float("inf"))
        p = tl.exp(s - lse[:, None])

# --- replace
        g = p * (dp - dl[:, None])
        grad += tl.dot(g.to(k.dtype), k, input_precision="ieee")
    grad *= alpha
# --- with
        g = p * (dp - dl[None, :])
        grad += tl.dot(g.to(k.dtype), k, input_precision="ieee")
