# label: wrong
# title: A kernel has no lambda.
# says: A kernel has no lambda.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
        total += part.to(tl.float32)
# --- with
        add = lambda a: a + part.to(tl.float32)
        total = add(total)
