# label: wrong
# title: the first block in every step
# says: the row of the coordinates does not change in the loop
# names: the first block in every step; one edit
# base: right_by_blocks

# --- replace
        x = x_desc.load([b, h, start, 0]).reshape(BLOCK, BLOCK_D).to(tl.float32)
# --- with
        x = x_desc.load([b, h, 0, 0]).reshape(BLOCK, BLOCK_D).to(tl.float32)
