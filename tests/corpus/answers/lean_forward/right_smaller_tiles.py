# label: right
# title: tiles of 64 keys
# says: tiles of 64 × 64 in one stage fit four times
# base: right_one_stage_v_last

# --- replace
    cut = Shape(64, 128, 4, 1)
# --- with
    cut = Shape(64, 64, 4, 1)
