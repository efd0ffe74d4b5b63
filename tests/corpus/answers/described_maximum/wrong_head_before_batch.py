# label: wrong
# title: h before b
# says: the coordinates are in the order of the dimensions, and b is the first
# names: head and batch exchanged; one edit
# base: right_by_blocks

# --- replace
        x = x_desc.load([b, h, start, 0]).reshape(BLOCK, BLOCK_D).to(tl.float32)
# --- with
        x = x_desc.load([h, b, start, 0]).reshape(BLOCK, BLOCK_D).to(tl.float32)
