# label: wrong
# title: dK lacks alpha.
# says: dK lacks alpha.
# names: alpha is missing from dK; constant factor
# base: _course_solution

# --- replace
    k.store((dk * alpha).to(k.dtype))
# --- with
    k.store((dk).to(k.dtype))
