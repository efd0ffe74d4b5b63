# label: wrong
# title: dv only where k wants one
# says: `if ctx.needs_input_grad[1]:` decides over dK and dV together: where V wants a gradient and K does
#   not, dV is None and never arrives.
# names: review
# base: wrong_o_and_do_exchanged

# --- replace
        saved = (q, k, v, do, o, lse, ctx.alpha)
        if ctx.causal:
            return dq_kernel_causal(*saved), *dkv_kernel_causal(*saved), None, None
        return dq_kernel(*saved), *dkv_kernel(*saved), None, None
# --- with
        args = (q, k, v, o, do, lse, ctx.alpha)
        dq = dk = dv = None
        if ctx.needs_input_grad[0]:
            dq = dq_kernel_causal(*args) if ctx.causal else dq_kernel(*args)
        if ctx.needs_input_grad[1]:
            dk, dv = dkv_kernel_causal(*args) if ctx.causal else dkv_kernel(*args)
        return dq, dk, dv, None, None
