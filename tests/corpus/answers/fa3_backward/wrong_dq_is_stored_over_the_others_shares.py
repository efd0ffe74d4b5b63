# label: wrong
# title: dQ is stored over the others' shares.
# says: dQ is stored over the others' shares.
# names: stored, not added; race
# base: _course_solution

# --- replace
from flashlearn.kernels.gluon.tma_add import async_add_shared_to_global
# --- with

# --- replace
        async_add_shared_to_global(dq_desc, [row + i * QUERIES, 0], dq_tile)
# --- with
        tma.async_copy_shared_to_global(dq_desc, [row + i * QUERIES, 0], dq_tile)
