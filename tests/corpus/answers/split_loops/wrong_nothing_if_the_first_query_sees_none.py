# label: wrong
# title: nothing if the first query sees none
# says: whether a block sees anything is decided by its first query, which sees the fewest keys; the last one
#   decides.
# names: the first query decides that nothing is seen

def split_loops(first, block_q, block_k, S_q, S_k):
    def sees(i):  # how many keys query i sees under the bottom-right mask
        return i + 1 + S_k - S_q

    by_first = sees(first)
    if by_first <= 0:  # the block sees no key at all
        return 0, 0
    last = min(first + block_q, S_q) - 1
    whole = by_first // block_k * block_k
    end = min(sees(last), S_k)
    return whole, end
