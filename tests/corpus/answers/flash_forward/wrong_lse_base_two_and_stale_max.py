# label: wrong
# title: lse base two and stale max
# says: two: LSE is stored as top + tl.log2(denom), a mixture of bases; and top = new_top stands before shrink
#   = tl.exp(top - new_top), so the factor is always 1
# names: nothing rescaled + LSE mixes two bases
# base: wrong_denominator_from_rounded_p

# --- replace
        shrink = tl.exp(top - new_top)
# --- with
        top = new_top
        shrink = tl.exp(top - new_top)

# --- replace
        denom = denom * shrink + tl.sum(e.to(v.dtype).to(tl.float32), 1)
        out = out * shrink[:, None] + tl.dot(e.to(v.dtype), v, input_precision="ieee")
        top = new_top
# --- with
        denom = denom * shrink + tl.sum(e, 1)
        out = out * shrink[:, None] + tl.dot(e.to(v.dtype), v, input_precision="ieee")

# --- replace
    tl.store(lse_ptr + rows, top + tl.log(denom), mask=rows < S_q)
# --- with
    tl.store(lse_ptr + rows, top + tl.log2(denom), mask=rows < S_q)
