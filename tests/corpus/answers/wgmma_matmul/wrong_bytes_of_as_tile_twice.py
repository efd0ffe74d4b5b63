# label: wrong
# title: the bytes of a's tile twice
# says: The barrier expects twice the bytes of a's tile: right while both tiles have as many, that is with
#   BLOCK_M = BLOCK_N.
# names: review
# base: _course_solution_without_markers

# --- replace
    mbarrier.expect(full, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=pred)
# --- with
    mbarrier.expect(full, 2 * a_desc.block_type.nbytes, pred=pred)
