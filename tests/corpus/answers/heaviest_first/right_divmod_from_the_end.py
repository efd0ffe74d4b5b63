# label: right
# title: divmod from the end

def heaviest_first(pid, blocks, heads):
    round_, head = divmod(pid, heads)
    return range(blocks)[-1 - round_], head
