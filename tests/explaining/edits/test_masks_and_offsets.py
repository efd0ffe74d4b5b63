"""Edits of masks, offsets and lengths in an address, and of the operands of Gluon's products."""

from __future__ import annotations

from flashlearn.explaining.edits import edits_of

KERNEL = """
@triton.jit
def kernel(q_ptr, do_ptr, dv_ptr, out_ptr, H, S, q_row, q_col, do_row, do_col, BLOCK: tl.constexpr):
    h = tl.program_id(1)
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    keys = tl.arange(0, BLOCK)
    d = tl.arange(0, 16)
    in_rows = rows[:, None] < S
    in_keys = keys[:, None] < S
    at = rows[:, None] * q_row + d[None, :] * q_col
    q = tl.load(q_ptr + at, mask=in_rows, other=0.0)
    do = tl.load(do_ptr + at, mask=in_rows, other=0.0)
    acc = tl.zeros([BLOCK, 16], tl.float32)
    for start in range(0, S, BLOCK):
        k = tl.load(k_ptrs, mask=(keys[None, :] < S) & (d[:, None] < 16), other=0.0)
        v = tl.load(v_ptrs, mask=(keys[:, None] < S) & (d[None, :] < 16), other=0.0)
        factor = tl.exp(start)
        acc = tl.dot(k, v, acc) * factor[:, None]
    tl.atomic_add(dv_ptr + keys[:, None] * do_row, do, mask=in_rows)
    tl.store(out_ptr + (h + 1) * tl.num_programs(0) * BLOCK + rows, tl.sum(tl.abs(q), axis=1))
"""
LAUNCHER = """
def launcher(q, k):
    S_q, S_k, BLOCK = q.shape[0], k.shape[0], 16
    kernel[(triton.cdiv(S_q, BLOCK),)](q, k, BLOCK=BLOCK)
    return q
"""
GLUON = """
@gluon.jit
def kernel(a_desc, b_desc, c_desc, steps):
    s = gl.zeros([64, 64], gl.float32, accumulator(64))
    s = warpgroup_mma(a_tile, b_tile.permute([1, 0]), s, use_acc=False, is_async=True)
    p = gl.exp2(s * 0.5).to(b_desc.dtype)
    c_tile.store(p)
"""


def made(text: str, kind: str) -> set[tuple[str, str]]:
    return {(edit.old, edit.new) for edit in edits_of(text.strip()) if edit.kind.name == kind}


def test_the_mask_that_bounds_an_address_is_tried_first():
    lines = KERNEL.strip().splitlines()
    alone = [e for e in edits_of(KERNEL.strip()) if e.kind.name == "wrong mask" and not e.also]
    added = {e.new: e.variant for e in alone if "atomic_add" in lines[e.line - 1]}
    loaded = {e.new: e.variant for e in alone if "q_ptr" in lines[e.line - 1]}
    assert added["in_keys"] == 0 and loaded["in_keys"] == 1


def test_a_shared_offset_is_written_out_with_the_other_tensor_s_strides():
    assert ("at", "(rows[:, None] * do_row + d[None, :] * do_col)") in made(KERNEL, "strides")
    assert not any(old == "at" and "q_row" in new for old, new in made(KERNEL, "strides"))


def test_a_shared_offset_whose_stride_names_no_tensor_is_left_alone():
    text = """@triton.jit
def k(y_ptr, stride_x):
    at = tl.arange(0, 4) * stride_x
    y = tl.load(y_ptr + at)
"""
    assert not any("arange" in new for _, new in made(text, "strides"))


def test_a_length_in_whole_blocks_becomes_the_length():
    assert ("(h + 1) * tl.num_programs(0) * BLOCK", "(h + 1) * S") in made(KERNEL, "padded length")


def test_a_bound_advances_in_both_tiles_along_either_axis():
    both = [e for e in edits_of(KERNEL.strip()) if e.kind.name == "bound not advanced" and e.also]
    assert any(e.applied(KERNEL.strip()).count(":] < S - start)") == 1 for e in both)
    assert any("(keys[:, None] < S - start)" in e.applied(KERNEL.strip()) for e in both)


def test_the_factor_of_a_sum_is_applied_to_its_old_value_alone():
    old = "tl.dot(k, v, acc) * factor[:, None]"
    assert (old, "tl.dot(k, v, acc * factor[:, None])") in made(KERNEL, "brackets")


def test_a_call_around_a_value_is_removed():
    assert ("tl.abs(q)", "q") in made(KERNEL, "redundant call")


def test_another_size_of_the_launcher_is_divided_into_blocks():
    assert ("S_q", "S_k") in made(LAUNCHER, "wrong size")
    assert any("BLOCK, S_q" in new for _, new in made(LAUNCHER, "argument order"))


def test_an_operand_of_a_gluon_product_is_transposed_or_not():
    assert made(GLUON, "operand transposed") == {
        ("a_tile", "a_tile.permute([1, 0])"),
        ("b_tile.permute([1, 0])", "b_tile"),
    }
    assert ("False", "True") in made(GLUON, "constant")


def test_edits_of_a_gluon_kernel_use_gluon_s_names():
    edits = edits_of(GLUON.strip())
    assert all("tl." not in edit.new for edit in edits)
    assert all(edit.kind.in_gluon for edit in edits)
