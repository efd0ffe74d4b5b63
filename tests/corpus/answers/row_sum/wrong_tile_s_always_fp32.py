# label: wrong
# title: tile, s always fp32
# says: s is fp32 where x is half precision; it should have x's dtype.
# names: shape
# base: right_four_rows_per_program_the_sum_in_a_helper

# --- replace
    s = x.new_empty(R)
# --- with
    s = torch.empty(R)
