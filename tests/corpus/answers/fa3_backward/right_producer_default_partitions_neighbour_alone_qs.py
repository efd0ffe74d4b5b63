# label: right
# title: the producer is the default partition's neighbour alone: q's barrier apart from do's
# base: _course_solution

# --- replace
        mbarrier.expect(full.index(at), q_desc.block_type.nbytes + do_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(q_desc, [b, h, i * QUERIES, 0], full.index(at), q_ring.index(at))
# --- with
        mbarrier.expect(full.index(at), q_desc.block_type.nbytes)
        tma.async_copy_global_to_shared(q_desc, [b, h, i * QUERIES, 0], full.index(at), q_ring.index(at))
        mbarrier.expect(full.index(at), do_desc.block_type.nbytes)

# --- replace
        mbarrier.init(full.index(slot), count=1)
# --- with
        mbarrier.init(full.index(slot), count=2)
