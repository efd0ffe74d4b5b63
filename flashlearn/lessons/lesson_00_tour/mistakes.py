"""The named mistakes of lesson 00: what people get wrong in their first kernels, and what to say to them."""

from __future__ import annotations

import math

import torch
import triton
from torch import Tensor

from flashlearn.exercise import Mistake
from flashlearn.lessons.lesson_00_tour import faulty_kernels as broken
from flashlearn.lessons.lesson_00_tour import reference
from flashlearn.outcome import Status


def _elements(x: Tensor, block: int) -> Tensor:
    return torch.arange(x.numel(), device=x.device, dtype=torch.int32)


def _padded_with_minus_infinity(x: Tensor) -> Tensor:
    columns = x.shape[1]
    padded = triton.next_power_of_2(columns) > columns
    return torch.full_like(x[:, 0], -math.inf) if padded else reference.row_sum(x)


def _first_row_for_all(x: Tensor) -> Tensor:
    return reference.row_sum(x[:1]).expand(x.shape[0]).clone()


PROGRAM_IDS = {
    "no mask": Mistake(
        sentence="The last program writes past the end of ids: its block is longer than what is left.",
        next_step="Give tl.store a mask that is true for the lanes whose element exists: offsets < n.",
        launcher=broken.ids_without_mask,
        status=Status.OUT_OF_BOUNDS,
    ),
    "same block for all": Mistake(
        sentence=(
            "Several programs write the same slots: their blocks overlap. Program p owns "
            "the block that begins at p · block, and no other."
        ),
        next_step="Program p begins at p * BLOCK: add that to tl.arange(0, BLOCK).",
        launcher=broken.ids_without_offset,
        status=Status.RACE,
    ),
    "tail without a program": Mistake(
        sentence="The ragged tail was never written: it belongs to no program; n // block rounds down.",
        next_step="Round up: triton.cdiv(n, block) programs, the last of which works under its mask.",
        launcher=broken.ids_without_tail,
    ),
    "element numbers": Mistake(
        sentence=(
            "Each slot holds its own number i; it should hold the number of the program that owns "
            "it, i // block."
        ),
        next_step="Use the offsets for the addresses, and pid as the value.",
        wrong=_elements,
    ),
    "lane numbers": Mistake(
        sentence=(
            "Each slot holds its place within the block, i % block; it should hold the program's "
            "number, i // block."
        ),
        next_step="tl.arange is the same in every program. The value to store is tl.program_id(0).",
        wrong=lambda x, block: _elements(x, block) % block,
    ),
    "dealt out in turn": Mistake(
        sentence=(
            "The elements are dealt out in turn, like cards: slot i belongs to program i mod the number of "
            "programs. Here each program owns a block of neighbours."
        ),
        next_step="Program p's first element is p * BLOCK, and the next ones follow it.",
        wrong=lambda x, block: _elements(x, block) % max(1, triton.cdiv(x.numel(), block)),
    ),
    "counted from one": Mistake(
        sentence="Every number is one too large: programs are counted from 0.",
        next_step="Store tl.program_id(0) as it is.",
        wrong=lambda x, block: reference.ids(x, block) + 1,
    ),
    "lanes counted from one": Mistake(
        sentence=(
            "Every block is shifted by one: element 0 is never written, and the first element of each later "
            "block has the number of the program before."
        ),
        next_step="Lanes count from 0: tl.arange(0, BLOCK).",
        launcher=broken.ids_with_lanes_from_one,
    ),
    "number of programs": Mistake(
        sentence="Every slot holds how many programs there are, not which one wrote it.",
        next_step="tl.num_programs(0) is the size of the grid; tl.program_id(0) is the number within it.",
        wrong=lambda x, block: torch.full_like(reference.ids(x, block), triton.cdiv(x.numel(), block)),
    ),
}

ROW_SUM = {
    "no mask": Mistake(
        sentence=(
            "The load has no mask: lanes beyond the last column read the next row, and in the last "
            "row they leave x."
        ),
        next_step="Load under mask=j < columns, and say with other= what the remaining lanes hold.",
        launcher=broken.sum_without_mask,
        status=Status.OUT_OF_BOUNDS,
    ),
    "one column too many": Mistake(
        sentence="The mask lets columns through that are not there: they are counted from 0 to columns − 1.",
        next_step="A lane takes part if its column is below `columns`: compare with that, and with <.",
        launcher=broken.sum_one_column_too_many,
        status=Status.OUT_OF_BOUNDS,
    ),
    "rows taken as packed": Mistake(
        sentence=(
            "The addresses assume that rows follow one another without gaps; in a strided view they do not."
        ),
        next_step="x[i, j] lies at x_ptr + i * stride_row + j * stride_column, whatever the view.",
        launcher=broken.sum_of_packed_rows,
        status=Status.OUT_OF_BOUNDS,
    ),
    "padding is −inf": Mistake(
        sentence="Rows shorter than their block sum to −inf: the padded lanes were loaded as −inf.",
        next_step=("−inf is the filler for a maximum. A sum needs the number that adds nothing: other=0.0."),
        wrong=_padded_with_minus_infinity,
    ),
    "first row everywhere": Mistake(
        sentence="Every element of s is the sum of row 0, whichever program wrote it.",
        next_step="Add i * stride_row to the pointer, with i = tl.program_id(0).",
        wrong=_first_row_for_all,
    ),
    "strides swapped": Mistake(
        sentence="The strides have changed places: program i walks along column i instead of row i.",
        next_step="The row's number goes with stride_row, the lanes with stride_column.",
        launcher=broken.sum_of_swapped_strides,
        status=Status.OUT_OF_BOUNDS,
    ),
    "summed in half precision": Mistake(
        sentence="The sum was accumulated in half precision: each addition is rounded to 11 bits.",
        next_step="Convert before you add: tl.sum(x.to(tl.float32), axis=0). The store converts back.",
        launcher=broken.sum_in_half_precision,
    ),
}

SCALED_ADD = {
    "no mask": Mistake(
        sentence="A load without a mask: the last program's block reaches beyond the vectors.",
        next_step="Build the mask once, offsets < n, and give it to both loads and to the store.",
        launcher=broken.add_without_mask,
        status=Status.OUT_OF_BOUNDS,
    ),
    "store without mask": Mistake(
        sentence="The loads are masked but the store is not: it writes beyond the end of z.",
        next_step="tl.store takes the same mask as the loads.",
        launcher=broken.add_without_store_mask,
        status=Status.OUT_OF_BOUNDS,
    ),
    "strides ignored": Mistake(
        sentence=(
            "The addresses assume that neighbours lie side by side; in x[::2] they are two elements apart."
        ),
        next_step=(
            "Multiply the offsets by stride_x and stride_y (or call .contiguous() first and pay for "
            "the copy)."
        ),
        launcher=broken.add_with_unit_strides,
        status=Status.OUT_OF_BOUNDS,
    ),
    "same block for all": Mistake(
        sentence=(
            "Block 0 of z is all that is ever written: every program takes that block, or there is only one."
        ),
        next_step=(
            "Program p takes the elements from p * BLOCK on, and there are triton.cdiv(n, BLOCK) programs."
        ),
        launcher=broken.add_without_offset,
    ),
    "tail without a program": Mistake(
        sentence=(
            "The ragged tail of z was never written: it belongs to no program; n // BLOCK rounds down."
        ),
        next_step="Round up: grid = (triton.cdiv(n, BLOCK),).",
        launcher=broken.add_without_tail,
    ),
    "a scales the sum": Mistake(
        sentence="z is a·(x + y): a scales y too.",
        next_step="Only x is scaled: a * x + y.",
        wrong=lambda a, x, y: a * (x + y),
    ),
    "a scales y": Mistake(
        sentence="z is x + a·y: a scales the wrong vector.",
        next_step="Only x is scaled: a * x + y. Look at the order of the arguments in the launch, too.",
        wrong=lambda a, x, y: x + a * y,
    ),
    "a is missing": Mistake(
        sentence="z is x + y: the factor a is missing.",
        next_step="Use the kernel's first argument: a * x + y.",
        wrong=lambda a, x, y: x + y,
    ),
    "y is subtracted": Mistake(
        sentence="z is a·x − y: y is subtracted.",
        next_step="Look at the sign in front of y: z is a sum.",
        wrong=lambda a, x, y: a * x - y,
    ),
    "a is added": Mistake(
        sentence="z is a + x + y: a is added to x, and x is not multiplied by it.",
        next_step="Which operation stands between a and x?",
        wrong=lambda a, x, y: a + x + y,
    ),
}
