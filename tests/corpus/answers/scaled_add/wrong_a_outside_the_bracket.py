# label: wrong
# title: a outside the bracket
# says: The bracket makes a scale both.
# names: a scales the sum
# base: right_autotuned_on_contiguous_copies

# --- replace
    result = tl.load(x + i, m).to(tl.float32) * a + tl.load(y + i, m).to(tl.float32)
# --- with
    result = a * (tl.load(x + i, m) + tl.load(y + i, m)).to(tl.float32)
