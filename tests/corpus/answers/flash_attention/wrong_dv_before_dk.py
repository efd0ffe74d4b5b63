# label: wrong
# title: dv before dk
# says: `dv, dk = dkv_kernel(...)` takes the pair in the wrong order (in both branches), so k gets the
#   gradient of v and the reverse.
# names: dk and dv exchanged
# base: wrong_alpha_or_default_twice

# --- replace
        return out
# --- with
        ctx.alpha = alpha
        return out

# --- replace
        scale = 1 / math.sqrt(q.shape[-1])
        args = (q, k, v, out, do, lse, scale)
# --- with
        args = (q, k, v, out, do, lse, ctx.alpha)

# --- replace
            dk, dv = dkv_kernel_causal(*args)
# --- with
            dv, dk = dkv_kernel_causal(*args)

# --- replace
            dk, dv = dkv_kernel(*args)
# --- with
            dv, dk = dkv_kernel(*args)

# --- replace
    alpha = alpha or 1 / math.sqrt(q.shape[-1])
# --- with
    if alpha is None:
        alpha = q.shape[-1] ** -0.5
