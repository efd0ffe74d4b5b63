# label: wrong
# title: exp of the bare scores, padded with 0
# says: Two mistakes: no maximum is subtracted, so large scores overflow; and the idle lanes hold 0, each of
#   which adds exp(0) to the denominator.
# names: maximum not subtracted + padding enters the sum
# base: _together

# --- replace
    x = tl.load(src + r * stride_r + c * stride_c, mask=inside, other=-float("inf")).to(tl.float32)
# --- with
    x = tl.load(src + r * stride_r + c * stride_c, mask=inside, other=0.0).to(tl.float32)

# --- replace
    num = tl.exp(x - peak)
# --- with
    num = tl.exp(x)
