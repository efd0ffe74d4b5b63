# label: wrong
# title: the list of queries ends with the first key
# says: The last keys of a block miss their last queries.
# names: queries end with the first key
# base: right_by_hooks

# --- replace
    end = last - shift + extras[0]
# --- with
    end = first - shift + extras[0]
