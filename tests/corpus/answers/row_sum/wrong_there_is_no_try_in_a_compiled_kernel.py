# label: wrong
# title: There is no `try` in a compiled kernel.
# says: There is no `try` in a compiled kernel.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
    total = tl.zeros((BLOCK,), dtype=tl.float32)
# --- with
    try:
        total = tl.zeros((BLOCK,), dtype=tl.float32)
    except ValueError:
        pass
