# label: wrong
# title: unseen: the mask without the tile's start
# says: The mask compares the key's place in its tile with the query, not the key's number: every tile is
#   masked as if it were the first.
# names: leak from the future; only whole tiles are hidden
# base: _in_the_notebook

# --- replace
        hidden = (cols[None, :] > rows[:, None] + (S_k - S_q)) | (cols[None, :] >= S_k)
# --- with
        hidden = (keys[None, :] > rows[:, None] + (S_k - S_q)) | (cols[None, :] >= S_k)
