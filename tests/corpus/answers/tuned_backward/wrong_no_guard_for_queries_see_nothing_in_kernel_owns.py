# label: wrong
# title: No guard for queries that see nothing, in the kernel that owns queries.
# says: No guard for queries that see nothing, in the kernel that owns queries.
# names: no guard for queries that see nothing; one edit; not finite; inf minus inf
# base: right_two_kernels_delta_by_torch

# --- replace
    lse = tl.where(lse == -float("inf"), float("inf"), lse) * 1.4426950408889634
# --- with
    lse = lse * 1.4426950408889634
