# label: wrong
# title: queries without the shift
# says: The list of queries takes key j for the place of query j.
# names: queries not shifted
# base: right_by_hooks

# --- replace
    begin = first - shift
    end = last - shift + extras[0]
# --- with
    begin = first
    end = last + extras[0]
