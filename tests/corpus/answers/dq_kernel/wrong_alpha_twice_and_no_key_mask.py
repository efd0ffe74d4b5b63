# label: wrong
# title: alpha twice and no key mask
# says: alpha is in `ds = alpha * p * (dp - delta_i)` and once more in `dq *= alpha`; and padded keys are not
#   masked in s, so that p may be infinite at LSE near -120
# names: alpha applied twice + padded keys get a probability
# base: _course_solution_without_markers

# --- replace
        s = tl.where(in_keys[None, :], s, -float("inf"))  # exp(0 - lse) of a padded key may overflow
# --- with

# --- replace
        ds = p * (dp - delta_i[:, None])
# --- with
        ds = alpha * p * (dp - delta_i[:, None])
