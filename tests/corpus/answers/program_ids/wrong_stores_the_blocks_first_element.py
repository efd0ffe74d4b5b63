# label: wrong
# title: stores the block's first element
# says: You store where the block begins, block times its number.
# names: first elements' numbers; constant factor
# base: right_three_programs_share_the_blocks_in_a_loop

# --- replace
        tl.store(out + idx, blk, mask=idx < n_elements)
# --- with
        tl.store(out + idx, blk * BLOCK, mask=idx < n_elements)
