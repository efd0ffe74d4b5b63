# label: wrong
# title: o.stride() passed twice, acc / D
# says: Two mistakes: do is read with the strides of o, and the sum is divided by D.
# names: strides of o used for do + mean over D; out_of_bounds + mean over D
# base: _delta

# --- replace
    tl.store(out + n, acc, mask=live)
# --- with
    tl.store(out + n, acc / D, mask=live)

# --- replace
        o, do, delta, H, S, total, D, *o.stride(), *do.stride(), ROWS=16, DB=16
# --- with
        o, do, delta, H, S, total, D, *o.stride(), *o.stride(), ROWS=16, DB=16
