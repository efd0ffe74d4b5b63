"""What a check holds in a GPU's memory, counted without one; and what it does where that is too little."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools

import pytest
import torch

import flashlearn
from flashlearn.course.answers import solution
from flashlearn.exercise import Exercise, Kind
from flashlearn.judging import draws, references
from flashlearn.judging.compiled_cases import Unfit, run_compiled, unfit_cautions
from flashlearn.judging.draws import draw_on, on_device, without_data
from flashlearn.judging.references import in_parts
from flashlearn.judging.smaller_cases import smaller_cases
from flashlearn.judging.tolerance import Truth
from flashlearn.lessons import all_exercises, find
from flashlearn.lessons.shared import tiled_twins
from flashlearn.lessons.shared.attention_cases import TIMING
from flashlearn.machine import memory
from flashlearn.machine.device import GIB
from flashlearn.observation import Launch, Observation
from flashlearn.outcome import Status
from flashlearn.running.answer import Here
from flashlearn.running.crashes import describe_exception
from flashlearn.running.evidence import Evidence, Output, Raised
from flashlearn.running.guard_zones import Request, without_memory
from tests import bad_kernels
from tests.judging.live_bytes import LiveBytes

ON_A_GPU = [
    e
    for e in all_exercises().values()
    if e.kind is Kind.KERNEL
    and not e.name.startswith("clinic")  # a single head, and slow to count
    and any(case.gpu for case in (*e.cases, *filter(None, [e.timed.case])))
]
TIMED = [e for e in ON_A_GPU if e.timed.case is not None]
IN_PARTS = [e for e in all_exercises().values() if e.judged.grows is not None and e.name != "lean_forward"]
MOST = 2.5 * GIB


@pytest.mark.parametrize("exercise", ON_A_GPU, ids=lambda e: e.name)
def test_inputs_references_and_comparison_of_the_largest_case_fit_in_two_and_a_half_gib(
    exercise: Exercise, monkeypatch
):
    monkeypatch.setattr(tiled_twins, "TILES", 2)  # larger tiles hold no less, and are counted sooner
    cases = [case for case in exercise.cases if case.gpu]
    if not cases:
        pytest.skip("it is only timed on a GPU")
    case = max(cases, key=lambda case: _size(exercise, without_data(exercise, case)))
    with LiveBytes() as counted:
        truth = Truth(exercise, on_device(draw_on(exercise, case, "meta", None), "meta"))
        for index, expected in enumerate(truth.expected):
            truth.judge(index, torch.empty_like(expected, dtype=truth.dtypes[index]))
    assert 0 < counted.peak <= MOST, (case.name, counted.peak / GIB)


@pytest.mark.parametrize("exercise", TIMED, ids=lambda e: e.name)
def test_the_inputs_of_the_case_for_timing_are_drawn_in_two_and_a_half_gib(exercise: Exercise):
    with LiveBytes() as counted:
        given = draw_on(exercise, exercise.timed.case, "meta", None)
    assert given is not None and 0 < counted.peak <= MOST, counted.peak / GIB


@pytest.mark.parametrize("exercise", IN_PARTS, ids=lambda e: e.name)
def test_references_in_parts_are_those_of_the_whole(exercise: Exercise, monkeypatch):
    small = [case for case in exercise.cases if not case.gpu and case.data == "normal"][:3]
    for case in small:
        more = {"B": 2} if case.sizes.get("B") == 1 else {}
        case = dataclasses.replace(case, sizes={**case.sizes, **more})
        given = exercise.inputs(case, case.generator())
        whole = Truth(exercise, given)
        monkeypatch.setattr(memory, "PART_ELEMENTS", 1)
        assert len(in_parts(exercise, given)) == references.entries_of(given) > 1
        parts = Truth(exercise, given)
        monkeypatch.undo()
        assert parts.dtypes == whole.dtypes
        for index, expected in enumerate(whole.expected):
            assert torch.allclose(parts.expected[index], expected, rtol=1e-12, atol=1e-12, equal_nan=True)
            assert parts.allowed(index) == pytest.approx(whole.allowed(index), rel=0.5)


def test_parts_are_the_same_whatever_memory_there_is_and_cover_everything():
    cuts = memory.spans(32, 32 * 2**23)
    assert [(cut.start, cut.stop) for cut in cuts] == [(i, i + 4) for i in range(0, 32, 4)]
    assert memory.spans(5, 10) == [slice(0, 5)] and memory.spans(0, 0) == [slice(0, 0)]
    assert memory.spans(3, 3 * memory.PART_ELEMENTS * 9) == [slice(i, i + 1) for i in range(3)]


def test_without_knowing_how_references_grow_nothing_is_cut():
    exercise = next(e for e in TIMED if e.judged.grows is None)
    given = without_data(exercise, exercise.timed.case)
    assert in_parts(exercise, given) == [given]


class Fake(Here):
    """Returns the right outputs, as a compiled run does; or had too little memory for `wanted` bytes."""

    wanted = 0

    def run(self, inputs, mode):
        if self.wanted:
            raised = Raised("OutOfMemoryError", "", Status.CRASHED, "The launcher asked.", wanted=self.wanted)
            return Evidence(raised=raised)
        value = self.exercise.reference(**inputs)
        launch = Launch(None, "kernel", (1, 1, 1), {}, {}, {})
        return Evidence(value, (Output(value),), observation=Observation(launches=[launch]))

    def prepared(self, draws, limit):
        return contextlib.nullcontext()


ROW_SUM = dataclasses.replace(find("row_sum"), cases=find("row_sum").cases[:3])


@pytest.fixture
def small_gpu(monkeypatch):
    """A GPU with 3 GiB of free memory."""
    monkeypatch.setattr(memory, "free_memory", lambda: 3 * GIB)
    monkeypatch.setattr(memory, "release", lambda: None)


def _too_small(*_given, **_named):
    raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB.")


@pytest.mark.parametrize("part", ["inputs", "Truth"])
def test_a_case_for_which_there_is_too_little_memory_is_left_out_and_costs_no_verdict(
    part, small_gpu, monkeypatch
):
    large, draw = ROW_SUM.cases[1], getattr(draws, part)
    monkeypatch.setattr(draws, "_recent", {})
    monkeypatch.setattr(draws, "_cached", lambda *_: None)
    if part == "inputs":
        monkeypatch.setattr(
            draws, part, lambda exercise, case: (_too_small if case is large else draw)(exercise, case)
        )
    else:
        calls = []

        def second_fails(*given):
            calls.append(given)
            return (_too_small if len(calls) in (2, 3) else draw)(*given)  # it is tried once more

        monkeypatch.setattr(draws, part, second_fails)
    unfit: list = []
    outcomes = run_compiled(ROW_SUM, Fake(ROW_SUM.reference, ROW_SUM), unfit=unfit)
    assert [o.case for o in outcomes] == [ROW_SUM.cases[0], ROW_SUM.cases[2]] and unfit == [Unfit(large)]
    assert all(o.status is Status.PASS for o in outcomes)
    (caution,) = unfit_cautions(unfit)
    assert caution.sentence == (
        f"The case {large.name} was not run, since this GPU's 3 GiB of free memory is too little for it."
    )


def test_a_launcher_that_asks_for_much_has_crashed_and_one_that_asks_for_little_has_not(small_gpu):
    answer, unfit = Fake(ROW_SUM.reference, ROW_SUM), []
    given = ROW_SUM.inputs(ROW_SUM.cases[0], ROW_SUM.cases[0].generator())["x"].nbytes
    answer.wanted = 100 * given
    (first,) = run_compiled(ROW_SUM, answer, unfit=unfit)
    assert (first.status, first.message, unfit) == (Status.CRASHED, "The launcher asked.", [])
    answer.wanted = given
    assert run_compiled(ROW_SUM, answer, unfit=unfit)[:1] == [] and unfit[:1] == [Unfit(ROW_SUM.cases[0])]


def test_several_cases_are_listed_in_one_sentence(small_gpu):
    (caution,) = unfit_cautions([Unfit(case) for case in ROW_SUM.cases])
    assert caution.sentence == (
        "3 cases were not run, since this GPU's 3 GiB of free memory is too little for them: "
        f"{'; '.join(case.name for case in ROW_SUM.cases)}."
    )


def test_a_kernel_whose_blocks_need_too_much_shared_memory_is_right_and_is_told_what_to_change():
    class Large(Fake):
        def run(self, inputs, mode):
            text = "out of resource: shared memory, Required: 294912, Hardware limit: 232448."
            sizes = {"BLOCK_Q": 64, "BLOCK_K": 32, "BLOCK_D": 256, "EVEN": True}
            launch = Launch(None, "kernel", (1, 1, 1), {}, sizes, {"num_stages": 3})
            raised = Raised("OutOfResources", text, Status.CRASHED, f"OutOfResources: {text}")
            return Evidence(raised=raised, observation=Observation(launches=[launch]))

    unfit: list = []
    assert run_compiled(ROW_SUM, Large(ROW_SUM.reference, ROW_SUM), unfit=unfit) == []
    what, left_out = unfit_cautions(unfit)
    names = [case.name for case in ROW_SUM.cases]
    assert what.sentence == (
        f"In the case {names[0]}, a block of kernel needs 288 KiB of shared memory. It can have 227 KiB "
        "on sm_90, 163 KiB on sm_80, and 99 KiB on sm_86, sm_89 and sm_120: make BLOCK_Q (now 64) or "
        "BLOCK_K (now 32) smaller, or use fewer stages."
    )
    assert left_out.sentence == f"3 cases were not run on this GPU: {'; '.join(names)}."


def test_a_launcher_without_memory_reads_what_it_asked_for():
    error = torch.OutOfMemoryError(
        "CUDA out of memory. Tried to allocate 64.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which "
        "6.20 GiB is free."
    )
    error.request = Request.of(torch.ops.aten.empty.memory_format, ((256, 4, 4096, 4096),), {}, held=100)
    ended = describe_exception(error, 20.0, find)
    assert ended.status is Status.CRASHED and ended.wanted == 100 + 4 * 256 * 4 * 4096**2
    assert ended.sentence == (
        "The launcher asked for 64.00 GiB of GPU memory, for a tensor of shape (256, 4, 4096, 4096) in "
        "float32, and 6.20 GiB was free."
    )
    error.request = dataclasses.replace(error.request, free=3 * GIB)  # of a process that is limited
    assert describe_exception(error, 20.0, find).sentence.endswith("in float32, and 3 GiB was free.")


def test_what_an_operation_would_give_is_known_without_memory():
    x = torch.ones(3, 5)
    assert without_memory(torch.ops.aten.mm.default, (x, x.T), {}).shape == (3, 3)
    assert without_memory(torch.ops.aten.new_empty.default, (x, [7, 2]), {}).shape == (7, 2)
    assert without_memory(torch.ops.aten.nonzero.default, (x,), {}) is None


def test_work_is_tried_once_more_after_what_is_unused_was_released(monkeypatch):
    released, left = [], [_too_small, lambda: 3]
    monkeypatch.setattr(memory, "release", lambda: released.append(1))
    assert memory.attempt(lambda: left.pop(0)()) == (3, True) and len(released) == 1
    assert memory.attempt(_too_small) == (None, False)
    with pytest.raises(RuntimeError, match="shapes"):
        memory.attempt(lambda: (_ for _ in ()).throw(RuntimeError("shapes differ")))


@pytest.mark.parametrize(
    ("case", "names"),
    [
        (TIMING, ["S 1024, D 64, B·H 128, fp16", "S 1024, D 64, B·H 64, fp16"]),
        (find("softmax_forward").timed.case, ["4096×4096, fp16", "2048×4096, fp16"]),
        (find("scaled_add").timed.case, ["16777216 elements", "8388608 elements"]),
    ],
)
def test_smaller_cases_are_named_by_their_sizes(case, names):
    smaller = list(itertools.islice(smaller_cases(case), 2))
    assert [one.name for one in smaller] == names
    assert len(list(smaller_cases(case))) < 40


@pytest.mark.parametrize("exercise", TIMED, ids=lambda e: e.name)
def test_every_case_for_timing_has_smaller_ones_that_can_be_drawn(exercise: Exercise):
    whole = without_data(exercise, exercise.timed.case)
    for case in itertools.islice(smaller_cases(exercise.timed.case), 3):
        given = without_data(exercise, case)
        assert given is not None and 0 < _bytes(given) < _bytes(whole)
        whole = given


@pytest.mark.gpu
def test_within_four_gib_attention_is_checked_and_timed():
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(4 * GIB / total)
    try:
        torch.cuda.reset_peak_memory_stats()
        report = flashlearn.check("flash_forward", solution(find("flash_forward")), demo=True)
        assert report.passed and report.timing.own is not None, str(report)
        assert torch.cuda.max_memory_allocated() < 3 * GIB
        greedy = flashlearn.check("scaled_add", _greedy, demo=True)
        assert greedy.status is Status.CRASHED and "for a tensor of shape (1099511627776,)" in greedy.sentence
        assert flashlearn.check("scaled_add", bad_kernels.right, demo=True).passed
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def _greedy(a, x, y):
    if x.is_cuda:
        torch.empty(2**40, device=x.device)
    return bad_kernels.right(a, x, y)


def _bytes(given) -> int:
    return sum(value.nbytes for value in given.values() if isinstance(value, torch.Tensor))


def _size(exercise: Exercise, given) -> int:
    """How large what a reference holds is, roughly."""
    if exercise.judged.grows is not None:
        return exercise.judged.grows(given)
    return sum(value.numel() for value in given.values() if isinstance(value, torch.Tensor))


def test_what_rounding_costs_is_known_in_the_next_check_and_the_verdict_is_the_same(monkeypatch):
    """Large cases only: their same-precision references are the slowest part of judging them."""
    exercise = dataclasses.replace(ROW_SUM, cases=(dataclasses.replace(ROW_SUM.cases[0], gpu=True),))
    (case,), calls = exercise.cases, []

    def twin(x):
        calls.append(1)
        return exercise.judged.twins[0](x)

    judged = dataclasses.replace(exercise.judged, twins=(twin,))
    counted = dataclasses.replace(exercise, judged=judged)
    learnt = draws.Draws(counted)
    learnt.learn_roundings()
    assert calls == [1] and not learnt._truths and not learnt._inputs
    again = draws.Draws(counted).of(case).truth
    assert calls == [1]
    whole = Truth(counted, draws.inputs(counted, case))
    assert again.allowed(0) == whole.allowed(0) and again.dtypes == whole.dtypes
    assert torch.equal(again.expected[0], whole.expected[0])
