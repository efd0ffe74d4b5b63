# label: wrong
# title: the gradient's sign
# says: The gradient of the logits has the opposite sign.
# names: dlogits has the wrong sign; sign; one edit
# base: _as_taught

# --- replace
    tl.store(dlogits_ptr + h, -tl.sum(total))
# --- with
    tl.store(dlogits_ptr + h, tl.sum(total))
