# label: wrong
# title: off_z = off_hz % H / off_h = off_hz // H
# says: Batch and head come out of the program id the wrong way round.
# names: permuted heads; out_of_bounds
# base: right_tutorials_kernel_64_by_32_tiles_k_loaded_transposed

# --- replace
    off_z = off_hz // H
    off_h = off_hz % H
# --- with
    off_z = off_hz % H
    off_h = off_hz // H
