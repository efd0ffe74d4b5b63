# label: wrong
# title: change of unit upside down
# says: `acc * (rescale * (v_scale / unit))` inverts the change of V's unit: the old sum must be multiplied by
#   unit / v_scale.
# names: the change of unit upside down
# base: wrong_lse_keeps_the_eight

# --- replace
        acc = acc * (rescale * (unit / v_scale))[:, None] + new  # from the last block's unit into this one's
# --- with
        acc = acc * (rescale * (v_scale / unit))[:, None] + new

# --- replace
    lse = (m_i + tl.log2(l_i)) * 0.6931471805599453
# --- with
    lse = (m_i + tl.log2(l_i) - 8.0) * 0.6931471805599453
