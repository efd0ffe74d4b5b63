# label: wrong
# title: log2 e is missing.
# says: log2 e is missing.
# names: log2 e is missing
# base: right_difference_first_factor_after_all_in_base_2_end

# --- replace
    c = tl.abs(alpha) * 1.4426950408889634 + 1e-30
# --- with
    c = tl.abs(alpha) + 1e-30

# --- replace
    lse = (m * c + tl.log2(l)) * 0.6931471805599453
# --- with
    lse = m * c + tl.log(l)
