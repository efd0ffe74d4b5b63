# label: wrong
# title: asks behind the load, once more
# says: the name of the static loop before, `slot`, is assigned anew in the loop: Triton's compiler refuses
#   that.
# names: crashed
# base: wrong_slot_filled_before_it_is_read

# --- replace
    for s in gl.static_range(STAGES):
        mbarrier.expect(full.index(s), x_desc.block_type.nbytes, pred=s < tiles)
        tma.async_copy_global_to_shared(x_desc, [first_row, s * columns], full.index(s), ring.index(s), pred=s < tiles)
# --- with
    for slot in gl.static_range(STAGES):  # the whole ring is on its way
        mbarrier.expect(full.index(slot), x_desc.block_type.nbytes, pred=slot < tiles)
        tma.async_copy_global_to_shared(
            x_desc, [first_row, slot * columns], full.index(slot), ring.index(slot), pred=slot < tiles
        )

# --- replace
        phase = (i // STAGES) & 1
        later = i + STAGES
        mbarrier.wait(full.index(slot), phase)
# --- with
        later = i + STAGES
        mbarrier.wait(full.index(slot), (i // STAGES) & 1)
        part = ring.index(slot).load(layout)

# --- replace
        tile = ring.index(slot).load(layout)
        total += gl.sum(tile.to(gl.float32), axis=1)
# --- with
        total += gl.sum(part.to(gl.float32), axis=1)

# --- replace
    """The sum of each row of x [M, N] in fp32, by `stages` buffers. Raises ValueError if x is no matrix."""
# --- with
