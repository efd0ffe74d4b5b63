# label: wrong
# title: head by head
# says: `divmod(pid, blocks)` goes through all blocks of a head before the next head; the last block of every
#   head must come first
# names: one head after the other

def heaviest_first(pid, blocks, heads):
    head, i = divmod(pid, blocks)
    return blocks - 1 - i, head
