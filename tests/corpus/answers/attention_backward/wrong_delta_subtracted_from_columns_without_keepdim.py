# label: wrong
# title: matrices, delta without [:, None]
# says: delta is subtracted from columns: without keepdim it broadcasts along the wrong axis.
# names: crashed; one edit
# base: right_einsum_logsumexp_delta_from_o

# --- replace
    d_scores = p * (do @ v.transpose(0, 1) - delta[:, None])
# --- with
    d_scores = p * (do @ v.transpose(0, 1) - delta)
