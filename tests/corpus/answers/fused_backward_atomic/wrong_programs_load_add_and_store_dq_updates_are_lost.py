# label: wrong
# title: so_far = tl.load(dq_ptr + dq_tile, mask=in_tile, other=0.0) tl.store(dq_ptr + dq_tile, so_far +
#   share, mask=in_tile)
# says: Programs load, add and store dQ: updates are lost.
# names: load, add, store; race
# base: _course_solution

# --- replace
        tl.atomic_add(dq_ptr + dq_tile, share, mask=in_tile, sem="relaxed")
# --- with
        so_far = tl.load(dq_ptr + dq_tile, mask=in_tile, other=0.0)
        tl.store(dq_ptr + dq_tile, so_far + share, mask=in_tile)
