# label: wrong
# title: Emptiness is reported, and the first wait lets through as well.
# says: Emptiness is reported, and the first wait lets through as well.
# names: expected again; overwritten; filled without being empty; phase overrun; wgmma not waited for; arrival
#   too many; phase is off; copy not waited for; deadlock
# base: right_one_consumer_slot_and_parity_by_counters

# --- replace
    acc = gl.zeros([64, 128], gl.float32, layout=layout)
# --- with
    acc = gl.zeros([64, 128], gl.float32, layout=layout)
    for t in gl.static_range(S):
        mbarrier.arrive(empty.index(t), count=1)
