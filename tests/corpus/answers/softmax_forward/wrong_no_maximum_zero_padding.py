# label: wrong
# title: no maximum zero padding
# says: two: no maximum is subtracted, so large scores overflow, and padding holds 0 (`other=0.0`), so that
#   each padded lane adds exp(0) = 1.
# names: maximum not subtracted + padding enters the sum
# base: right_base_two_reciprocal

# --- replace
    x = tl.load(s_ptr + i * s_row + j * s_col, mask=valid, other=float("-inf")).to(tl.float32)
    x = (x - tl.max(x, axis=0)) * 1.4426950408889634
    w = tl.exp2(x)
    scale = 1.0 / tl.sum(w, axis=0)
    tl.store(p_ptr + i * p_row + j * p_col, (w * scale).to(p_ptr.dtype.element_ty), mask=valid)
# --- with
    row = tl.load(s_ptr + i * s_row + j * s_col, mask=valid, other=0.0).to(tl.float32)
    num = tl.exp(row)
    tl.store(p_ptr + i * p_row + j * p_col, num / tl.sum(num, axis=0), mask=valid)
