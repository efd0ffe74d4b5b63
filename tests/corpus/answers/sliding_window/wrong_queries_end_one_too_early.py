# label: wrong
# title: the range of queries ends one query too early
# says: The end of a range is one past the last query, last - shift + window; a tile that begins there is lost.
# names: some programs
# base: right_by_hooks

# --- replace
    end = last - shift + extras[0]
# --- with
    end = last - shift + extras[0] - 1
