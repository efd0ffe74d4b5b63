# label: wrong
# title: ctx.save_for_backward(q, k, v, 0.5 * out, lse)
# says: O is saved after it was halved in place for a test: delta is half of what it should be.
# names: delta is halved
# base: right_the_tutorials_names_base_2_kernels

# --- replace
        ctx.save_for_backward(q, k, v, out, lse)
# --- with
        ctx.save_for_backward(q, k, v, 0.5 * out, lse)
