# label: wrong
# title: lse without its stride, exp without a guard
# says: Two mistakes: the stride of lse is ignored; and a row of nothing but −inf gives NaN, since −inf −
#   (−inf) is not guarded against.
# names: stride of lse ignored + −inf minus −inf; out_of_bounds + −inf minus −inf
# base: _rebuild

# --- replace
    lse = tl.load(L + r * l0, mask=r < R, other=0.0)[:, None]
    x = tl.load(S + r[:, None] * s0 + c[None, :] * s1, mask=live, other=-float("inf")).to(tl.float32)
    e = tl.where(lse > -float("inf"), tl.exp(x - lse), 0.0)
# --- with
    lse = tl.load(L + r, mask=r < R, other=0.0)[:, None]
    x = tl.load(S + r[:, None] * s0 + c[None, :] * s1, mask=live, other=-float("inf")).to(tl.float32)
    e = tl.exp(x - lse)
