# label: wrong
# title: a barrier within the block
# says: `tl.debug_barrier()` orders the threads of one program only; the load and the store of dk by two
#   programs still race
# names: two programs add without atomics
# base: _course_solution_without_markers

# --- replace
    tl.atomic_add(dk_ptr + key_tile, alpha * dk, mask=in_keys[:, None])
# --- with
    tl.debug_barrier()  # __syncthreads()
    so_far = tl.load(dk_ptr + key_tile, mask=in_keys[:, None], other=0.0)
    tl.store(dk_ptr + key_tile, so_far + alpha * dk, mask=in_keys[:, None])
