# label: wrong
# title: a clone of o and lse kept as attributes of ctx
# says: The numbers are right, but the clone of O and LSE are attributes of ctx; the exercise asks for
#   `ctx.save_for_backward` for every tensor.
# names: review
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
