# label: right
# title: the last block begins earlier
# base: right_by_blocks

# --- replace
        x = x_desc.load([b, h, start, 0]).reshape(BLOCK, BLOCK_D).to(tl.float32)
        x = tl.where((start + rows < S)[:, None], x, -float("inf"))
# --- with
        first = tl.maximum(tl.minimum(start, S - BLOCK), 0)
        x = x_desc.load([b, h, first, 0]).reshape(BLOCK, BLOCK_D).to(tl.float32)
        x = tl.where((first + rows < S)[:, None], x, -float("inf"))
