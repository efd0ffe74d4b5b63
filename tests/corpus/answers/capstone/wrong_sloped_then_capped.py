# label: wrong
# title: sloped first, then capped
# says: The slope is taken off before the cap.
# names: cap after the slope; one edit
# base: _as_taught

# --- replace
    s = capped_score(x, b, h, i, j, S_q, S_k, extras[1])
    return score_with_distance(s, b, h, i, j, S_q, S_k, extras[2])
# --- with
    s = score_with_distance(x, b, h, i, j, S_q, S_k, extras[2])
    return capped_score(s, b, h, i, j, S_q, S_k, extras[1])

# --- replace
    capped = capped_score(x, b, h, i, j, S_q, S_k, extras[1])
    return capped_gradient(ds, x, capped, b, h, i, j, S_q, S_k, extras[1])
# --- with
    return capped_gradient(ds, x, s, b, h, i, j, S_q, S_k, extras[1])
