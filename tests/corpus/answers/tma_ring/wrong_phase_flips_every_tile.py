# label: wrong
# title: phase flips every tile
# says: the wait uses the phase `i & 1`; a slot's phase changes once per round of the ring, (i // STAGES) & 1.
# names: the phase turns with every tile
# base: right_phase_by_bits

# --- replace
        mbarrier.wait(full.index(here), (i // STAGES) & 1)
# --- with
        mbarrier.wait(full.index(here), i & 1)
