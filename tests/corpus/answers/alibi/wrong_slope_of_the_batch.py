# label: wrong
# title: the slope by the batch
# says: The slope belongs to the head, and is looked up by the batch.
# names: the slope of the batch; the first head's slope for all
# base: right_by_hook

# --- replace
    slope = tl.load(extras[0] + h)
# --- with
    slope = tl.load(extras[0] + b)
