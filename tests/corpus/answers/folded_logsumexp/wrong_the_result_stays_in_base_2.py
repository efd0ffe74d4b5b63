# label: wrong
# title: The result stays in base 2.
# says: The result stays in base 2.
# names: LSE in base 2
# base: right_difference_first_factor_after_all_in_base_2_end

# --- replace
    lse = (m * c + tl.log2(l)) * 0.6931471805599453
# --- with
    lse = m * c + tl.log2(l)
