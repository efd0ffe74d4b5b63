# label: wrong
# title: no guard
# says: A row that sees nothing becomes NaN.
# names: rows that see nothing are NaN; not finite
# base: right_tiles_of_16_the_guards_outside_the_flag

# --- replace
        base = tl.where(new == float("-inf"), 0.0, new)
# --- with
        base = new
