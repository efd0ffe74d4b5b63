# label: wrong
# title: The first tile is left out.
# says: The first tile is left out.
# names: the first tile is left out; copy never waited for
# base: right_from_the_last_tile_to_the_first_under_an_if

# --- replace
    for i in range(n - 1, -1, -1):
# --- with
    for i in range(n - 1, 0, -1):

# --- replace
        if i > 0:
# --- with
        if i > 1:
