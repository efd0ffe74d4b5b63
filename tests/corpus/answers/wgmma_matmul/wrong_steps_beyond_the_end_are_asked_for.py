# label: wrong
# title: Steps beyond the end are asked for.
# says: Steps beyond the end are asked for.
# names: copy never waited for; steps beyond the end
# base: right_b_as_transpose_with_permute_ordinary_stores_columns

# --- replace
        more = i + 1 < steps
# --- with
        more = i >= 0
