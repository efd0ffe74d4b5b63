# label: right
# title: a clone of o and lse kept as attributes of ctx
# base: right_the_tutorials_names_base_2_kernels

# --- replace
        ctx.save_for_backward(q, k, v, out, lse)
# --- with
        ctx.save_for_backward(q, k, v)
        ctx.rest = (out.clone(), lse)

# --- replace
        q, k, v, out, lse = ctx.saved_tensors
# --- with
        (q, k, v), (out, lse) = ctx.saved_tensors, ctx.rest
