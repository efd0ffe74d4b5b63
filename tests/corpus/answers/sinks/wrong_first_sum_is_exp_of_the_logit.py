# label: wrong
# title: the first sum is exp(logit)
# says: With the logit as maximum the sink's share of the sum is 1: the sum is relative to the maximum.
# names: the first sum is not relative to the maximum
# base: _as_taught

# --- replace
    return tl.load(logits_ptr + h), 1.0
# --- with
    logit = tl.load(logits_ptr + h)
    return logit, tl.exp(logit)
