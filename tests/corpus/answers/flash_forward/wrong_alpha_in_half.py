# label: wrong
# title: alpha in half
# says: line q = (q * alpha).to(q.dtype): alpha is folded into q and rounded to half precision before the
#   product, so scores and LSE are off far more than allowed
# names: precision
# base: wrong_denominator_from_rounded_p

# --- replace
    top = tl.full((BLOCK_Q,), -float("inf"), tl.float32)
# --- with
    q = (q * alpha).to(q.dtype)
    top = tl.full((BLOCK_Q,), -float("inf"), tl.float32)

# --- replace
        s = tl.dot(q, kt, input_precision="ieee") * alpha
# --- with
        s = tl.dot(q, kt, input_precision="ieee")

# --- replace
        denom = denom * shrink + tl.sum(e.to(v.dtype).to(tl.float32), 1)
# --- with
        denom = denom * shrink + tl.sum(e, 1)
