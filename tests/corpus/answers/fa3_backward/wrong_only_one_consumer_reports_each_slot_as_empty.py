# label: wrong
# title: Only one consumer reports each slot as empty.
# says: Only one consumer reports each slot as empty.
# names: slots are never given back; deadlock
# base: _course_solution

# --- replace
        mbarrier.arrive(empty.index(at), count=1)
# --- with
        mbarrier.arrive(empty.index(at), count=1, pred=CONSUMER == 0)
