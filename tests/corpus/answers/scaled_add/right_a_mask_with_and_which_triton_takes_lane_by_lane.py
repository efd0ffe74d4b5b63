# label: right
# title: a mask with `and`, which Triton takes lane by lane
# base: _add

# --- replace
    mask = offsets < n
# --- with
    mask = offsets >= 0 and offsets < n
