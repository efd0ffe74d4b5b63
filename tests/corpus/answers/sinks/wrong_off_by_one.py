# label: wrong
# title: softmax off by one
# says: The sink's logit is 0, whatever was learned.
# names: a sink of 0; one edit
# base: _as_taught

# --- replace
    return tl.load(logits_ptr + h), 1.0
# --- with
    return 0.0, 1.0
