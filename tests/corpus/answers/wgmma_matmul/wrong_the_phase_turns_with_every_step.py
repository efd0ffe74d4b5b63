# label: wrong
# title: The phase turns with every step.
# says: The phase turns with every step.
# names: phase is off; the phase turns with every step
# base: right_barrier_for_one_for_b_copies_asked_for_behind

# --- replace
        mbarrier.wait(abar.index(here), i // S & 1)
        mbarrier.wait(bbar.index(here), i // S & 1)
# --- with
        mbarrier.wait(abar.index(here), i & 1)
        mbarrier.wait(bbar.index(here), i & 1)
