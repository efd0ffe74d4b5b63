"""Every Hopper kernel compiles without a GPU, fits in shared memory, and its WGMMA stay asynchronous."""

from __future__ import annotations

import pytest

from flashlearn.kernels.gluon.fa3_forward import fa3_forward_kernel
from flashlearn.kernels.gluon.specialised_matmul import specialised_matmul_kernel
from flashlearn.kernels.gluon.tma_copy import tma_copy_kernel
from flashlearn.kernels.gluon.tma_ring import tma_ring_kernel
from flashlearn.kernels.gluon.wgmma_matmul import wgmma_matmul_kernel
from tests.kernels.gluon.compiled import Assembled, assembled, tile

SHARED = 227 * 1024
"""Bytes that a program may have on compute capability 9.0."""
SIZES = {name: "i32" for name in ("H", "H_K", "S_q", "S_k", "GROUP", "TILES")}


def fits(kernel: Assembled) -> bool:
    # C7510 and its neighbours are the assembler's words for WGMMA that it had to serialise
    return kernel.shared <= SHARED and "C75" not in kernel.words


def test_the_copy_goes_by_tma_in_both_directions(tmp_path):
    kernel = assembled(
        tma_copy_kernel, {"x_desc": tile([64, 64], "fp32"), "y_desc": tile([64, 64], "fp32")}, {}, tmp_path, 1
    )
    assert fits(kernel)
    assert "cp.async.bulk.tensor.2d.shared" in kernel.ptx
    assert "cp.async.bulk.tensor.2d.global" in kernel.ptx


def test_the_ring_needs_no_spills(tmp_path):
    types = {"x_desc": tile([32, 64], "fp32"), "y_ptr": "*fp32", "M": "i32", "N": "i32"}
    kernel = assembled(tma_ring_kernel, types, {"STAGES": 3, "num_warps": 4}, tmp_path)
    assert fits(kernel)
    assert kernel.spilled == 0


def test_the_product_keeps_a_wgmma_in_flight(tmp_path):
    types = {"a_desc": tile([128, 64]), "b_desc": tile([64, 128]), "c_desc": tile([128, 128]), "K": "i32"}
    kernel = assembled(wgmma_matmul_kernel, types, {"STAGES": 4, "num_warps": 8}, tmp_path, 8)
    assert fits(kernel)
    assert "wgmma.wait_group.sync.aligned 1" in kernel.ptx


def test_specialists_move_registers(tmp_path):
    types = {"a_desc": tile([64, 64]), "b_desc": tile([64, 256]), "c_desc": tile([64, 256]), "K": "i32"}
    kernel = assembled(specialised_matmul_kernel, types, {"STAGES": 3}, tmp_path)
    assert fits(kernel)
    assert "setmaxnreg.inc" in kernel.ptx
    assert "setmaxnreg.dec" in kernel.ptx


@pytest.mark.parametrize(("D", "consumers"), [(128, 2), (64, 3)])
def test_the_forward_overlaps_a_softmax_with_a_product_and_spills_nothing(D, consumers, tmp_path):
    rows, keys = tile([1, 1, 64, D]), tile([1, 1, 128, D])
    types = {
        "q_desc": rows, "k_desc": keys, "v_desc": keys, "o_desc": rows, "lse_ptr": "*fp32",
        "counter_ptr": "*i32", "scale": "fp32", "total": "i32", **SIZES,
    }  # fmt: skip
    constants = {
        "CAUSAL": True, "NEGATIVE": False, "RAGGED": False, "BLOCK_K": 128, "D": D, "STAGES": 2,
        "CONSUMERS": consumers, "PINGPONG": False,
    }  # fmt: skip
    kernel = assembled(fa3_forward_kernel, types, constants, tmp_path)
    assert fits(kernel)
    assert kernel.spilled == 0
    assert "wgmma.wait_group.sync.aligned 1" in kernel.ptx
