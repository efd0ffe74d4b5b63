# label: wrong
# title: slot refilled before it is read
# says: with STAGES tiles asked for beforehand the copy of tile i + STAGES into slot i % STAGES stands before
#   `part = ring.index(slot).load(layout)`: the tile is overwritten before it has been read.
# names: filled again before it is read
# base: wrong_slot_filled_before_it_is_read

# --- replace
    for s in gl.static_range(STAGES):
        mbarrier.expect(full.index(s), x_desc.block_type.nbytes, pred=s < tiles)
        tma.async_copy_global_to_shared(x_desc, [first_row, s * columns], full.index(s), ring.index(s), pred=s < tiles)
# --- with
    for each in gl.static_range(STAGES):  # the whole ring is on its way
        mbarrier.expect(full.index(each), x_desc.block_type.nbytes, pred=each < tiles)
        tma.async_copy_global_to_shared(
            x_desc, [first_row, each * columns], full.index(each), ring.index(each), pred=each < tiles
        )

# --- replace
        phase = (i // STAGES) & 1
        later = i + STAGES
        mbarrier.wait(full.index(slot), phase)
# --- with
        later = i + STAGES
        mbarrier.wait(full.index(slot), (i // STAGES) & 1)

# --- replace
        tile = ring.index(slot).load(layout)
        total += gl.sum(tile.to(gl.float32), axis=1)
# --- with
        part = ring.index(slot).load(layout)
        total += gl.sum(part.to(gl.float32), axis=1)

# --- replace
    """The sum of each row of x [M, N] in fp32, by `stages` buffers. Raises ValueError if x is no matrix."""
# --- with
