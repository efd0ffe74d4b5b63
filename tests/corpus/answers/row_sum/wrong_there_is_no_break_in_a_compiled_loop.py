# label: wrong
# title: There is no `break` in a compiled loop.
# says: There is no `break` in a compiled loop.
# names: crashed
# base: right_a_global_that_is_a_constexpr

# --- replace
    tl.store(out_ptr + tl.program_id(0), tl.sum(total, axis=0) + START)
# --- with
        if start + BLOCK >= width:
            break
    tl.store(out_ptr + tl.program_id(0), tl.sum(total, axis=0) + START)
