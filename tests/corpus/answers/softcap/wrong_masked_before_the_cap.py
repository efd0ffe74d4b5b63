# label: wrong
# title: the mask inside the score, before the cap
# says: Hidden keys come back with the score −cap.
# names: cap applied after the mask
# base: right_by_sigmoid

# --- replace
    half = tl.sigmoid(2 * x / extras[0])
# --- with
    x = tl.where(causal_mask(b, h, i, j, S_q, S_k, extras), x, -float("inf"))
    half = tl.sigmoid(2 * x / extras[0])

# --- replace
        mask=causal_mask, keys=causal_keys, queries=causal_queries,
# --- with
        keys=causal_keys, queries=causal_queries,
