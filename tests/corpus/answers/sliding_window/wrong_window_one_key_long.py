# label: wrong
# title: distance up to window
# says: The window holds one key more than asked: distances run from 0 to window − 1.
# names: window one key long
# base: right_by_hooks

# --- replace
    return (distance >= 0) & (distance < extras[0])
# --- with
    return (distance >= 0) & (distance <= extras[0])

# --- replace
    begin = first + shift - (extras[0] - 1)
# --- with
    begin = first + shift - extras[0]

# --- replace
    end = last - shift + extras[0]
# --- with
    end = last - shift + extras[0] + 1
