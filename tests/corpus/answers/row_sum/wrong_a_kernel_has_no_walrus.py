# label: wrong
# title: A kernel has no walrus.
# says: A kernel has no walrus.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
        total += part.to(tl.float32)
# --- with
        total += (wide := part.to(tl.float32))
