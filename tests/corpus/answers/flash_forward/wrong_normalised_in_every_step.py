# label: wrong
# title: normalised in every step
# says: line out = ... / denom[:, None]: O is divided by the running denominator in each step, and the old O
#   is not multiplied by the old one before (half of FlashAttention-1's formula)
# names: divided in every step
# base: wrong_denominator_from_rounded_p

# --- replace
        denom = denom * shrink + tl.sum(e.to(v.dtype).to(tl.float32), 1)
        out = out * shrink[:, None] + tl.dot(e.to(v.dtype), v, input_precision="ieee")
# --- with
        denom = denom * shrink + tl.sum(e, 1)
        out = (out * shrink[:, None] + tl.dot(e.to(v.dtype), v, input_precision="ieee")) / denom[:, None]

# --- replace
             (out / denom[:, None]).to(o_ptr.dtype.element_ty), mask=q_ok)
# --- with
             out.to(o_ptr.dtype.element_ty), mask=q_ok)
