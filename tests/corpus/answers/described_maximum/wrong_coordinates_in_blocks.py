# label: wrong
# title: coordinates count blocks
# says: the coordinates of a descriptor count elements, and here they count blocks of rows
# names: coordinates counted in blocks; one edit
# base: right_by_blocks

# --- replace
        x = x_desc.load([b, h, start, 0]).reshape(BLOCK, BLOCK_D).to(tl.float32)
# --- with
        x = x_desc.load([b, h, start // BLOCK, 0]).reshape(BLOCK, BLOCK_D).to(tl.float32)
