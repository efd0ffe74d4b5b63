# label: wrong
# title: The slot is given back before it is read.
# says: The slot is given back before it is read.
# names: overwritten; unordered read; copy not waited for; phase is off
# base: right_a_producer_and_a_consumer

# --- replace
        v = buf.index(i % S).load(layout)
        mbarrier.arrive(empty.index(i % S), count=1)
# --- with
        mbarrier.arrive(empty.index(i % S), count=1)
        v = buf.index(i % S).load(layout)
