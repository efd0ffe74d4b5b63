# label: wrong
# title: asks behind the load
# says: The name of the static loop over the slots is assigned anew in the loop over the tiles: a compiler
#   refuses that, though the numbers are right.
# names: crashed
# base: wrong_slot_filled_before_it_is_read

# --- replace
    for each in gl.static_range(STAGES):
        mbarrier.init(full.index(each), count=1)
# --- with
    for slot in gl.static_range(STAGES):
        mbarrier.init(full.index(slot), count=1)

# --- replace
        phase = (i // STAGES) & 1
        later = i + STAGES
        mbarrier.wait(full.index(slot), phase)
        mbarrier.expect(full.index(slot), x_desc.block_type.nbytes, pred=later < tiles)
        tma.async_copy_global_to_shared(
            x_desc, [first_row, later * columns], full.index(slot), ring.index(slot), pred=later < tiles
        )
# --- with
        mbarrier.wait(full.index(slot), (i // STAGES) & 1)

# --- replace
        total += gl.sum(tile.to(gl.float32), axis=1)
# --- with
        total += gl.sum(tile.to(gl.float32), axis=1)
        more = i + STAGES < tiles
        mbarrier.expect(full.index(slot), x_desc.block_type.nbytes, pred=more)
        tma.async_copy_global_to_shared(
            x_desc, [first_row, (i + STAGES) * columns], full.index(slot), ring.index(slot), pred=more
        )
