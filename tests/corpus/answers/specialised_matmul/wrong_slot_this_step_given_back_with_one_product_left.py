# label: wrong
# title: The slot of this step is given back with one product left.
# says: The slot of this step is given back with one product left.
# names: wgmma not waited for; given back while it is read
# base: right_a_producer_for_each_operand

# --- replace
        if i > 0:
            mbarrier.arrive(empty.index((i - 1) % S), count=1)
# --- with
        mbarrier.arrive(empty.index(i % S), count=1)
