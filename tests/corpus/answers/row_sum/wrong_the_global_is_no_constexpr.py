# label: wrong
# title: The global is no constexpr.
# says: The global is no constexpr.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
        total += part.to(tl.float32)
# --- with
        total += part.to(tl.float32) * FACTOR
