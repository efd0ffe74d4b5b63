# label: wrong
# title: Hidden products are −∞ before a negative factor.
# says: Hidden products are −∞ before a negative factor.
# names: hidden, then scaled; −∞ meets alpha
# base: right_difference_first_factor_after_all_in_base_2_end

# --- replace
    c = tl.abs(alpha) * 1.4426950408889634 + 1e-30
# --- with
    c = alpha * 1.4426950408889634

# --- replace
        if alpha < 0:
            x = -x
# --- with
