# label: wrong
# title: maximum 0 and the sum exp(logit)
# says: exp(logit) overflows for a large logit: the logit itself must be the maximum.
# names: the sink is not in the maximum; not finite; one edit
# base: _as_taught

# --- replace
    return tl.load(logits_ptr + h), 1.0
# --- with
    return 0.0, tl.exp(tl.load(logits_ptr + h))
