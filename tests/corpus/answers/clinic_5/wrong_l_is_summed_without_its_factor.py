# label: wrong
# title: l_i + sum, without rescale
# says: The sum was moved after the mask and lost its factor on the way: l_i of earlier tiles is not converted
#   to the new maximum, so O and LSE are wrong with several tiles of keys.
# names: l is not rescaled
# base: _clinic_5_kernel

# --- replace
        l_i = l_i * rescale + tl.sum(p, axis=1)
        p = tl.where(seen, p, 0.0)
# --- with
        p = tl.where(seen, p, 0.0)
        l_i = l_i + tl.sum(p, axis=1)
