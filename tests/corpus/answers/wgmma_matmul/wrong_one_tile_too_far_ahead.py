# label: wrong
# title: one tile too far ahead
# says: `ahead = i + STAGES - 1`, as in the ring of exercise 2, fills the slot of step i - 1, whose product
#   may still run (and skips tile STAGES - 2, which nobody asks for); it is i + STAGES - 2
# names: one step is never fetched
# base: wrong_expects_one_of_two

# --- replace
    mbarrier.expect(full, a_desc.block_type.nbytes, pred=pred)
# --- with
    # one step of K: both tiles report to one barrier, which expects the bytes of both
    mbarrier.expect(full, a_desc.block_type.nbytes + b_desc.block_type.nbytes, pred=pred)

# --- replace
        ahead = i + STAGES - 2
        here, gap, k = i % STAGES, ahead % STAGES, ahead * BLOCK_K
        fetch(a_desc, b_desc, m, n, k, a.index(gap), b.index(gap), full.index(gap), ahead < steps)
        mbarrier.wait(full.index(here), i // STAGES % 2)
        acc = warpgroup_mma(a.index(here), b.index(here), acc, is_async=True)
# --- with
        ahead = i + STAGES - 1
        free = ahead % STAGES
        fetch(a_desc, b_desc, m, n, ahead * BLOCK_K, a.index(free), b.index(free), full.index(free), ahead < steps)
        slot = i % STAGES
        mbarrier.wait(full.index(slot), (i // STAGES) & 1)
        acc = warpgroup_mma(a.index(slot), b.index(slot), acc, is_async=True)
