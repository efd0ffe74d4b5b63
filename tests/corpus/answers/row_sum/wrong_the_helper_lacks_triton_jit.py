# label: wrong
# title: The helper lacks @triton.jit.
# says: The helper lacks @triton.jit.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
        total += part.to(tl.float32)
# --- with
        total = added(total, part.to(tl.float32))
