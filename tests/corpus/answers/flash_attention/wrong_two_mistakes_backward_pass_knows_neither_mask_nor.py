# label: wrong
# title: if False: / dout, lse, q.shape[-1] ** -0.5)
# says: Two mistakes: the backward pass knows neither the mask nor the scale.
# names: the mask is forgotten on the way back + alpha is forgotten on the way back
# base: right_the_tutorials_names_base_2_kernels

# --- replace
        given = (q, k, v, out, dout, lse, ctx.softmax_scale)
        if ctx.is_causal:
# --- with
        given = (q, k, v, out, dout, lse, q.shape[-1] ** -0.5)
        if False:
