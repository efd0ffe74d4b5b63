# label: wrong
# title: base 2 kept, no guard
# says: Two mistakes: the result is left in base 2; and where only −inf has been seen, −inf − (−inf) makes
#   NaN.
# names: constant factor + −inf minus −inf; constant factor + inf minus inf
# base: _base2

# --- replace
        ref = tl.where(new_hi == -float("inf"), 0.0, new_hi)
# --- with
        ref = new_hi

# --- replace
    tl.store(out_ptr + r, (hi + tl.log2(acc)) * 0.6931471805599453, mask=r < rows)
# --- with
    tl.store(out_ptr + r, hi + tl.log2(acc), mask=r < rows)
