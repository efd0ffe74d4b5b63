# label: wrong
# title: live = c < n - 1
# says: The last column is left out of the store, and the sum: the mask is j < n − 1.
# names: never written; last tile missing
# base: right_p_dp_reused_p_taken_out_of_the_bracket

# --- replace
    live = c < n
# --- with
    live = c < n - 1
