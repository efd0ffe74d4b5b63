# label: wrong
# title: unseen: q scaled in place
# says: The launcher scales q in place, and so changes the caller's tensor.
# names: changed input
# base: _flattened

# --- replace
    scale = alpha
# --- with
    q_flat.mul_(alpha)
    scale = 1.0
