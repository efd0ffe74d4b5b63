# label: wrong
# title: the sink in the sum, −∞ as the maximum
# says: The row begins with the sum exp(logit) and the maximum −∞: the first tile's rescaling makes it 0, and there is no sink.
# names: no sink; not finite; one edit
# base: _as_taught

# --- replace
    return tl.load(logits_ptr + h), 1.0
# --- with
    return -float("inf"), tl.exp(tl.load(logits_ptr + h))
