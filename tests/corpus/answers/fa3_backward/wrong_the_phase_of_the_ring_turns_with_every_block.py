# label: wrong
# title: The phase of the ring turns with every block.
# says: The phase of the ring turns with every block.
# names: phase is off; the phase never turns
# base: _course_solution

# --- replace
        mbarrier.wait(full.index(at), phase)
# --- with
        mbarrier.wait(full.index(at), (i - first) % 2)
