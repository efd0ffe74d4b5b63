# label: wrong
# title: eight warps and two stages
# says: eight warps halve the registers of a thread, but shared memory leaves room for one program
# names: review
# base: right_one_stage_v_last

# --- replace
    cut = Shape(64, 128, 4, 1)
# --- with
    cut = Shape(128, 128, 8, 2)
