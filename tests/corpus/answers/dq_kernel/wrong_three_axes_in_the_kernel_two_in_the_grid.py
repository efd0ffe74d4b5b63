# label: wrong
# title: three axes in the kernel, two in the grid
# says: The kernel expects a grid of (blocks, H, B) and gets (blocks, B · H): b is always 0, h counts all
#   heads. Only where a batch entry's heads lie behind those of the one before is that the same place.
# names: never read; out_of_bounds; some heads
# base: _dq_by_the_notebook

# --- replace
    b = (tl.program_id(1) // H).to(tl.int64)
    h = (tl.program_id(1) % H).to(tl.int64)
# --- with
    b = tl.program_id(2).to(tl.int64)
    h = tl.program_id(1).to(tl.int64)
