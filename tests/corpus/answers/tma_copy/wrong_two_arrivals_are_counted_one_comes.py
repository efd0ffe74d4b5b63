# label: wrong
# title: Two arrivals are counted, one comes.
# says: Two arrivals are counted, one comes.
# names: deadlock; one arrival too many is awaited
# base: right_two_arrivals_ordinary_stores_at_the_end

# --- replace
    mbarrier.arrive(bar, count=1)
# --- with
