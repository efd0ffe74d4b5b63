# label: wrong
# title: two stages, slabs - 1 and a mean
# says: A mean was stored, and the last slab is missing from it: two mistakes.
# names: mean instead of sum + the last, short tile left out; mean instead of sum + last tile missing
# base: right_transposed_tiles_two_kernels_partial_sums_in_between

# --- replace
def add_partials(part_ptr, db_ptr, slabs, N, BN: tl.constexpr):
# --- with
def add_partials(part_ptr, db_ptr, slabs, N, M, BN: tl.constexpr):

# --- replace
    for k in range(slabs):
        total += tl.load(part_ptr + k * N + n, mask=n < N, other=0.0)
    tl.store(db_ptr + n, total, mask=n < N)
# --- with
    for k in range(slabs - 1):
        total += tl.load(part_ptr + k * N + n, mask=n < N, other=0.0)
    tl.store(db_ptr + n, total / M, mask=n < N)

# --- replace
    add_partials[(triton.cdiv(N, 16),)](part, db, slabs, N, BN=16)
# --- with
    add_partials[(triton.cdiv(N, 16),)](part, db, slabs, N, M, BN=16)
