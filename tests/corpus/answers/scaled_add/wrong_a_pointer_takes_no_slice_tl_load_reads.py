# label: wrong
# title: y_ptr[:n]
# says: A pointer takes no slice: tl.load reads.
# names: crashed
# base: _add

# --- replace
    y = tl.load(y_ptr + offsets * stride_y, mask=mask).to(tl.float32)
# --- with
    y = y_ptr[:n].to(tl.float32)
