# label: wrong
# title: heads interleaved
# says: `h_k = h % H_K` deals the heads of K and V out in turn; groups of neighbouring heads share one, h //
#   (H // H_K).
# names: heads dealt round
# base: wrong_heads_of_k_by_remainder

# --- replace
    h_k = h % H_K
# --- with
    h_k = h % H_K  # the head of K and V that serves this head of Q
