# label: wrong
# title: b, h, h % (H // G), row, BLOCK
# says: Heads of K are dealt round.
# names: heads dealt round
# base: right_one_consumer_three_slots_with_counters_own_finite

# --- replace
        (feeder, (qd, kd, vd, qt, kt, vt, qf, kf, vf, free, n, b, h, h // G, row, BLOCK)),
# --- with
        (feeder, (qd, kd, vd, qt, kt, vt, qf, kf, vf, free, n, b, h, h % (H // G), row, BLOCK)),
