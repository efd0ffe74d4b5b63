# label: wrong
# title: (cols < 1 << 30)[None, :] &
# says: Keys from S_k on are not masked.
# names: the ragged end is not masked
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
        ok = (cols < S_k)[None, :] & (rows < 1 << 30)[:, None]
# --- with
        ok = (cols < 1 << 30)[None, :] & (rows < 1 << 30)[:, None]
