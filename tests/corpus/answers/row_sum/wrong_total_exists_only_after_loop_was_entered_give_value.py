# label: wrong
# title: `total` exists only after the loop was entered: give it a value before.
# says: `total` exists only after the loop was entered: give it a value before.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
    total = tl.zeros((BLOCK,), dtype=tl.float32)
# --- with

# --- replace
        total += part.to(tl.float32)
# --- with
        if start == 0:
            total = part.to(tl.float32)
        else:
            total += part.to(tl.float32)
