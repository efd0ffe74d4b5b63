# label: wrong
# title: The sign is lost.
# says: The sign is lost.
# names: the sign of alpha is lost
# base: right_difference_first_factor_after_all_in_base_2_end

# --- replace
        if alpha < 0:
            x = -x
# --- with
