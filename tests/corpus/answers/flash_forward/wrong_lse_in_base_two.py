# label: wrong
# title: lse in base two
# says: scores are in base 2 (`* 1.44269504`), and LSE is stored as `run_max + tl.log2(run_sum)` without going
#   back to the natural logarithm.
# names: LSE in base 2
# base: right_k_loaded_transposed

# --- replace
        z = tl.dot(q, kt, input_precision="ieee") * alpha
# --- with
        z = tl.dot(q, kt, input_precision="ieee") * (alpha * 1.4426950408889634)

# --- replace
        c = tl.exp(run_max - new)
        w = tl.exp(z - new[:, None])
# --- with
        c = tl.exp2(run_max - new)
        w = tl.exp2(z - new[:, None])

# --- replace
    out = out * (1.0 / run_sum)[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, out.to(o_ptr.dtype.element_ty), mask=okq[:, None] & okd[None, :])
    tl.store(lse_ptr + rows, run_max + tl.log(run_sum), mask=okq)
# --- with
    out = out / run_sum[:, None]
    tl.store(o_ptr + rows[:, None] * o_row + d[None, :] * o_col, out.to(o_ptr.dtype.element_ty), mask=okq[:, None] & okd[None, :])
    tl.store(lse_ptr + rows, run_max + tl.log2(run_sum), mask=okq)
