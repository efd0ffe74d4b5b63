# label: wrong
# title: The slot is given back before the products that read it are over.
# says: The slot is given back before the products that read it are over.
# names: given back while products read it; wgmma not waited for
# base: _course_solution

# --- replace
        dv, dk, dq = warpgroup_mma_wait(0, deps=[dv, dk, dq])
        mbarrier.arrive(empty.index(at), count=1)
# --- with
        mbarrier.arrive(empty.index(at), count=1)
        dv, dk, dq = warpgroup_mma_wait(0, deps=[dv, dk, dq])
