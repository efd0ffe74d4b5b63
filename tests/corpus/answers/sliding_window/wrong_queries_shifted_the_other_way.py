# label: wrong
# title: queries shifted the other way
# says: Key j is at the place of query j − (S_k − S_q); the list of queries adds the shift.
# names: queries shifted the other way
# base: right_by_hooks

# --- replace
    begin = first - shift
    end = last - shift + extras[0]
# --- with
    begin = first + shift
    end = last + shift + extras[0]
