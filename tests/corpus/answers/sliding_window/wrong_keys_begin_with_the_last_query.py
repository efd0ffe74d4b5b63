# label: wrong
# title: the list of keys begins with the window of the last query
# says: The first queries of a block miss their oldest keys.
# names: keys begin with the last query's window
# base: right_by_hooks

# --- replace
    begin = first + shift - (extras[0] - 1)
# --- with
    begin = last + shift - (extras[0] - 1)
