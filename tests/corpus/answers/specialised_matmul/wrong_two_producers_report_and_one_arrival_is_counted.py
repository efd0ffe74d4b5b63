# label: wrong
# title: Two producers report, and one arrival is counted.
# says: Two producers report, and one arrival is counted.
# names: arrival too many; bytes; phase overrun; copy not waited for; expected again; phase is off
# base: right_a_producer_for_each_operand

# --- replace
        mbarrier.init(full.index(s), count=2)
# --- with
        mbarrier.init(full.index(s), count=1)
