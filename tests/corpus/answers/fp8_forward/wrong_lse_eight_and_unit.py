# label: wrong
# title: lse eight and unit
# says: two: the LSE keeps the 8 (l_i holds 256 times the sum), and the change of unit is `v_scale / unit`
#   instead of `unit / v_scale`.
# names: the change of unit upside down + 256 left in LSE
# base: wrong_lse_keeps_the_eight

# --- replace
        acc = acc * (rescale * (unit / v_scale))[:, None] + new  # from the last block's unit into this one's
# --- with
        acc = acc * (rescale * (v_scale / unit))[:, None] + new  # from the last block's unit into this one's
