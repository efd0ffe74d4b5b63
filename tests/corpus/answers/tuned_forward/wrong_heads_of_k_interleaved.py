# label: wrong
# title: heads of k interleaved
# says: `h_k = h % H_K` deals the heads of Q out in turns; the text's head h meets head h // (H / H_K) of K
#   and V.
# names: heads dealt round
# base: wrong_heads_of_k_by_remainder
