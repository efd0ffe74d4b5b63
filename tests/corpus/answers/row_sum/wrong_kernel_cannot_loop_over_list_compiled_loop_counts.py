# label: wrong
# title: A kernel cannot loop over a list: a compiled loop counts.
# says: A kernel cannot loop over a list: a compiled loop counts.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
        total += part.to(tl.float32)
# --- with
        for half in [0.5, 0.5]:
            total += part.to(tl.float32) * half
