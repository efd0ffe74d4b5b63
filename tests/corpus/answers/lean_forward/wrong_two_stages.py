# label: wrong
# title: two stages
# says: with two stages two tiles of K and V are in shared memory, and a single program fits
# names: review
# base: right_one_stage_v_last

# --- replace
    cut = Shape(64, 128, 4, 1)
# --- with
    cut = Shape(64, 128, 4, 2)
