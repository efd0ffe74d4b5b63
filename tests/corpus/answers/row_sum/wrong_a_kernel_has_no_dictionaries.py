# label: wrong
# title: A kernel has no dictionaries.
# says: A kernel has no dictionaries.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
        total += part.to(tl.float32)
# --- with
        held = {"part": part}
        total += held["part"].to(tl.float32)
