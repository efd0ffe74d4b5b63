# label: wrong
# title: the cap's derivative at the finished score
# says: The derivative of the cap is computed from s, which has the slope's share as well.
# names: slope in the cap's derivative; one edit
# base: _as_taught

# --- replace
    capped = capped_score(x, b, h, i, j, S_q, S_k, extras[1])
    return capped_gradient(ds, x, capped, b, h, i, j, S_q, S_k, extras[1])
# --- with
    return capped_gradient(ds, x, s, b, h, i, j, S_q, S_k, extras[1])
