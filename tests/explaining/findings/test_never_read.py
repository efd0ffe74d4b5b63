"""What is said to be never read is what the output depends on."""

import pytest
import torch

from flashlearn.explaining.findings.needed_input import needed
from flashlearn.explaining.findings.never_read import NeverRead, OnlyFirstTileRead
from flashlearn.explaining.findings.rule import Clue
from flashlearn.judging.cases import run_observed
from flashlearn.kernels.flash_backward_dkv import dkv_kernel_causal
from flashlearn.lessons import find
from tests.corpus.functions import function_with_edits


@pytest.fixture(scope="module")
def late():
    """A wrong output of a scan that begins a block late, where the first queries see no key."""
    exercise = find("dkv_kernel_causal")
    start = "range(first // BLOCK_Q * BLOCK_Q, S_q, BLOCK_Q)"
    function = function_with_edits(dkv_kernel_causal, (start, start.replace("(first", "(BLOCK_Q + first")))
    case = next(c for c in exercise.cases if c.sizes["S_q"] > c.sizes["S_k"] + 32 and not c.gpu)
    outcome = run_observed(exercise, function, case)
    return Clue(exercise, outcome, outcome.outputs[0])


def test_queries_that_see_no_key_are_not_missed(late):
    sizes = late.outcome.case.sizes
    blind = sizes["S_q"] - sizes["S_k"]
    unread = late.outcome.observation.unread["q"]
    assert bool(unread[..., :blind, :].all())
    assert not bool(needed(late, "q", unread)[..., :blind, :].any())
    said = NeverRead.look(late)
    (q,) = (one for one in said.unread if one.name == "q")
    assert q.first == blind + 1  # query `blind` sees one key: its P is 1, whatever q is


def test_what_is_only_below_a_maximum_is_needed():
    exercise = find("described_maximum")
    case = next(c for c in exercise.cases if not c.gpu and c.dtype is torch.float32)
    outcome = run_observed(exercise, lambda *given: torch.zeros(()), case)
    clue = Clue(exercise, outcome, outcome.outputs[0])
    unread = torch.ones_like(clue.inputs["x"], dtype=torch.bool)
    assert bool(needed(clue, "x", unread).all())


def test_a_single_index_that_is_read_is_not_called_a_tile():
    wording = OnlyFirstTileRead("db", "dy", 1, 1030, axis=0, axes=2).wording()
    assert (
        wording.sentence
        == "Only index 0 of dy along its first dimension is ever read, of up to 1030 indices."
    )
    assert "in the address of dy" in wording.next_step and "tile" not in wording.next_step
    whole = OnlyFirstTileRead("db", "dy", 64, 1030, axis=0, axes=2).wording()
    assert whole.sentence.startswith("Only the first tile of dy")
