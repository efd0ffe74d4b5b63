# label: wrong
# title: lse on the class
# says: LSE is kept on the class, where the next call overwrites it.
# names: kept on the class
# base: right_the_tutorials_names_base_2_kernels

# --- replace
        ctx.save_for_backward(q, k, v, out, lse)
# --- with
        ctx.save_for_backward(q, k, v, out)
        _attention.lse = lse

# --- replace
        q, k, v, out, lse = ctx.saved_tensors
# --- with
        (q, k, v, out), lse = ctx.saved_tensors, _attention.lse
