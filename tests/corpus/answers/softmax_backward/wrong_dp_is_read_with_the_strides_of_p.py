# label: wrong
# title: p.stride() passed twice
# says: dp is read with the strides of p.
# names: strides of p used for dp; out_of_bounds
# base: _dsoftmax

# --- replace
    dsoftmax[(p.shape[0],)](p, dp, ds, p.shape[1], *p.stride(), *dp.stride(), W=16)
# --- with
    dsoftmax[(p.shape[0],)](p, dp, ds, p.shape[1], *p.stride(), *p.stride(), W=16)
