# label: right
# title: consumers report all slots as empty at first
# base: right_one_consumer_slot_and_parity_by_counters

# --- replace
    parity = 1
# --- with
    parity = 0

# --- replace
    acc = gl.zeros([64, 128], gl.float32, layout=layout)
# --- with
    acc = gl.zeros([64, 128], gl.float32, layout=layout)
    for t in gl.static_range(S):
        mbarrier.arrive(empty.index(t), count=1)
