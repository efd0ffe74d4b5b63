# label: wrong
# title: stores idx - blk * BLOCK
# says: The numbers are lanes within a block, not blocks.
# names: lane numbers
# base: right_three_programs_share_the_blocks_in_a_loop

# --- replace
        tl.store(out + idx, blk, mask=idx < n_elements)
# --- with
        tl.store(out + idx, idx - blk * BLOCK, mask=idx < n_elements)
