# label: wrong
# title: The sum is not rescaled.
# says: The sum is not rescaled.
# names: the old sum is not rescaled
# base: right_difference_first_factor_after_all_in_base_2_end

# --- replace
        l = l * tl.exp2((m - base) * c) + tl.sum(tl.exp2((x - base[:, None]) * c), 1)
# --- with
        l = l + tl.sum(tl.exp2((x - base[:, None]) * c), 1)
