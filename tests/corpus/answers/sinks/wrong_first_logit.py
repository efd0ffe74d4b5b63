# label: wrong
# title: the first logit for every head
# says: All heads take the first logit.
# names: the sink of the first head; one edit
# base: _as_taught

# --- replace
    return tl.load(logits_ptr + h), 1.0
# --- with
    return tl.load(logits_ptr), 1.0
