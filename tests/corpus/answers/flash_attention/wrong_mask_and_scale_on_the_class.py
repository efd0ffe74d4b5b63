# label: wrong
# title: mask and scale on the class
# says: The mask and the scale are kept on the class, where the next call overwrites them.
# names: kept on the class
# base: right_the_tutorials_names_base_2_kernels

# --- replace
        ctx.is_causal = is_causal
        ctx.softmax_scale = softmax_scale
# --- with
        _attention.is_causal = is_causal
        _attention.softmax_scale = softmax_scale

# --- replace
        given = (q, k, v, out, dout, lse, ctx.softmax_scale)
        if ctx.is_causal:
# --- with
        given = (q, k, v, out, dout, lse, _attention.softmax_scale)
        if _attention.is_causal:
