# label: wrong
# title: Slot and turn are exchanged in the wait.
# says: Slot and turn are exchanged in the wait.
# names: phase is off; copy not waited for; deadlock; slot and phase exchanged
# base: right_from_the_last_tile_to_the_first_under_an_if

# --- replace
        mbarrier.wait(bars.index(here), turn // 2 & 1)
# --- with
        mbarrier.wait(bars.index(turn // 2 & 1), here)
