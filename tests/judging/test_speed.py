"""Timing on a GPU, and predictions without one."""

from __future__ import annotations

import dataclasses
import os

import pytest
import torch

from flashlearn.course.answers import solution
from flashlearn.exercise import Case, Exercise, Grade, Kind, Prepared, Work, make_exercise
from flashlearn.judging import draws, speed
from flashlearn.lessons import find
from flashlearn.machine import device, timers
from flashlearn.machine.timers import Timer
from flashlearn.observation import Observation, Traffic
from flashlearn.running.answer import Here

LARGE = Case("4096 × 1024", sizes={"rows": 4096, "columns": 1024}, dtype=torch.float16, gpu=True)


def doubled(**changes) -> Exercise:
    """y = 2·x: reads and writes each element once."""
    fields = {
        "name": "doubled",
        "lesson": "00",
        "kind": Kind.KERNEL,
        "title": "Twice",
        "signature": "(x) -> y",
        "outputs": ("y",),
        "inputs": lambda case, generator: {
            "x": torch.randn(case.sizes["rows"], case.sizes["columns"], generator=generator).to(case.dtype)
        },
        "reference": lambda x: 2 * x,
        "cases": (Case("3 × 5", sizes={"rows": 3, "columns": 5}),),
        "work": lambda inputs: Work(
            inputs["x"].numel(), 2 * inputs["x"].numel() * inputs["x"].element_size()
        ),
        "peer": torch_double,
        "peer_name": "torch_double",
        "timing_case": LARGE,
    }
    return make_exercise(**{**fields, **changes})


def torch_double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def observed(exercise: Exercise, wasted: float = 1.0) -> tuple[Case, dict, Observation]:
    case = exercise.cases[0]
    inputs = exercise.inputs(case, case.generator())
    size = inputs["x"].numel() * 4
    traffic = {"x_ptr": Traffic(unique_loaded=int(wasted * size)), "y_ptr": Traffic(unique_stored=size)}
    return case, inputs, Observation(traffic, {"elementwise": inputs["x"].numel()})


def test_a_prediction_has_what_was_counted_in_a_small_case_beside_it():
    exercise = doubled()
    found = speed.predict(exercise, *observed(exercise))
    assert (found.measured, found.where) == (False, LARGE.name)
    assert found.least_bytes == 2 * 2 * 4096 * 1024
    assert found.counted == speed.Counted(exercise.cases[0], 2 * 15 * 4, 2 * 15 * 4)
    assert found.predictions["H100"] == pytest.approx(found.least_bytes / device.GPUS["H100"].bandwidth)
    assert set(found.predictions) == set(device.GPUS)
    assert found.half


def test_a_prediction_is_of_the_least_work_whatever_the_kernel_does():
    exercise = doubled()
    right = speed.predict(exercise, *observed(exercise))
    wasteful = speed.predict(exercise, *observed(exercise, wasted=3.0))
    assert wasteful.counted.bytes == 2 * right.counted.bytes
    assert wasteful.least_bytes == right.least_bytes
    assert wasteful.predictions == right.predictions  # what it moves in vain is no bound


def test_what_is_counted_is_reported_of_the_case_with_the_fewest_padded_lanes():
    exercise = doubled()
    _, inputs, whole = observed(exercise)
    ragged = Observation(
        {"x_ptr": Traffic(unique_loaded=8 * inputs["x"].numel(), loaded=8 * inputs["x"].numel())},
        {"elementwise": 3 * inputs["x"].numel()},
    )
    assert ragged.bytes_requested > whole.bytes_requested
    ranked = [speed.padding(exercise, inputs, seen) for seen in (whole, ragged)]
    assert ranked[0] < ranked[1]
    nothing_to_do = doubled(work=lambda inputs: Work(0, 0))
    assert ranked[1] < speed.padding(nothing_to_do, inputs, whole)
    without = doubled(timing_case=None)
    assert speed.padding(without, inputs, ragged) < speed.padding(without, inputs, whole)


@pytest.mark.parametrize(("dtype", "rate"), [(torch.float32, "fp32"), (torch.float16, "half")])
def test_products_in_half_precision_run_at_the_tensor_cores_rate(dtype, rate):
    exercise = doubled(
        timing_case=dataclasses.replace(LARGE, dtype=dtype), work=lambda inputs: Work(1e12, 1e6)
    )
    found = speed.predict(exercise, *observed(exercise))
    assert found.predictions["A100"] == pytest.approx(1e12 / getattr(device.GPUS["A100"], rate))


def test_a_prediction_shorter_than_a_launch_is_not_made():
    small = doubled(timing_case=dataclasses.replace(LARGE, sizes={"rows": 3, "columns": 5}))
    assert speed.predict(small, *observed(small)).predictions == {}


def test_without_a_timing_case_the_counts_are_told_as_they_are():
    exercise = doubled(timing_case=None)
    found = speed.predict(exercise, *observed(exercise))
    assert found.predictions == {}
    assert (found.where, found.counted.bytes) == ("x of shape [3, 5] in float32", 2 * 15 * 4)


def test_a_timing_case_that_depends_on_data_is_left_aside():
    def inputs(case, generator):
        x = torch.randn(case.sizes["rows"], case.sizes["columns"], generator=generator)
        return {"x": x[x > 0]}

    exercise = doubled(inputs=inputs)
    assert speed.predict(exercise, *observed(exercise)).where.startswith("x ")


def test_numbers_drawn_with_the_inputs_do_not_keep_a_case_from_being_sized():
    def inputs(case, generator):
        scale = float(torch.rand((), generator=generator))
        return {
            "scale": scale,
            "x": torch.randn(case.sizes["rows"], case.sizes["columns"], generator=generator),
        }

    exercise = doubled(inputs=inputs)
    assert speed.predict(exercise, *observed(exercise)).least_bytes == 2 * 4 * 4096 * 1024


def test_every_exercise_of_the_course_that_is_timed_can_be_sized_without_its_data():
    from flashlearn.lessons import all_exercises

    timed = [e for e in all_exercises().values() if e.timed.case is not None and e.judged.work is not None]
    for exercise in timed:
        inputs = draws.without_data(exercise, exercise.timed.case)
        assert inputs is not None, exercise.name
        assert exercise.judged.work(inputs).bytes > 0, exercise.name


def test_the_kernels_of_the_timing_case_are_known_without_its_data_and_without_a_gpu():
    exercise = find("dq_kernel")
    delta, dq = speed.launches(exercise, Here(solution(exercise), exercise))
    assert (dq.name, dq.grid, dq.signature["q_ptr"]) == ("flash_dq_kernel", (16, 8, 32), "*fp16")
    assert dq.constexprs["BLOCK_Q"] == 64  # what the launcher chooses for fp16 on a GPU; observed it takes 32
    assert dq.job["signature"]["S_q"] == "i32" and {"q_ptr", "S_q"} <= set(dq.job["divisible"])
    assert delta.name == "delta_preprocess_kernel"


def test_a_launcher_may_ask_where_its_tensors_are_and_cut_them():
    exercise, asked = find("scaled_add"), solution(find("scaled_add"))

    def careful(a, x, y):
        assert x.is_cuda and x.device.type == "cuda" and x.to("cuda").is_cuda and x[:1].is_cuda
        assert torch.empty_like(x).device == torch.zeros(3, device=x.device).device
        return asked(a, x[: len(x) // 2].contiguous(), y[: len(y) // 2])

    (launch,) = speed.launches(exercise, Here(careful, exercise))
    (whole,) = speed.launches(exercise, Here(asked, exercise))
    assert 2 * launch.grid[0] == whole.grid[0]


def test_a_launcher_that_looks_at_data_or_ends_its_process_has_no_launches_to_tell_of():
    def looks(x):
        return x if float(x.sum()) > 0 else -x

    def ends(x):
        os._exit(3)

    exercise = doubled()
    for launcher in (looks, ends):
        assert speed.launches(exercise, Here(launcher, exercise)) == []
    assert speed.launches(doubled(timing_case=None), Here(looks, exercise)) == []


SMALL = Case("2 × 2", sizes={"rows": 2, "columns": 2})


class Told(Timer):
    """Every contestant takes as long as the test says, in the order in which they stand."""

    def __init__(self, *milliseconds: float):
        self.milliseconds, self.known = milliseconds, []

    def times(self, calls):
        for call in calls:
            if call not in self.known:
                self.known.append(call)
        return [self.milliseconds[self.known.index(call)] for call in calls]


@pytest.fixture
def told(monkeypatch):
    """Sets the times of the contestants of the next measurement."""
    return lambda *milliseconds: monkeypatch.setattr(timers, "default_timer", lambda: Told(*milliseconds))


def test_the_learner_s_speed_is_told_relative_to_the_peer(told):
    told(3.0, 1.5)
    found = speed.measure(doubled(timing_case=SMALL), torch.clone)
    assert (found.own.median, found.peers["torch_double"].median, found.peer) == (3.0, 1.5, "torch_double")
    assert found.ratio == pytest.approx(0.5)
    assert found.measured


def test_without_a_peer_there_is_no_ratio(told):
    told(500.0)
    found = speed.measure(doubled(peer=None, timing_case=SMALL), torch.clone)
    assert (found.own.median, found.own.rounds, found.peers, found.ratio) == (500.0, 3, {}, None)


def test_grades_are_asked_about_where_their_peer_is(told):
    def missing(x):
        raise RuntimeError("No available kernel.")

    grades = (
        Grade("bronze", 0.5, "torch_double"),
        Grade("silver", 1.0, "other"),
        Grade("gold", 0.9, "missing"),
    )
    made = []

    def make(x):
        made.append(x)
        return lambda: x

    peers = {"other": Prepared(make), "missing": missing}
    exercise = doubled(peers=peers, grades=grades, timing_case=SMALL)
    told(2.0, 1.0, 1.8)
    found = speed.measure(exercise, torch.clone)
    assert len(made) == 1  # and not in the time
    assert list(found.peers) == ["torch_double", "other"]
    assert [(m.grade.name, m.ratio, m.reached) for m in found.marks] == [
        ("bronze", 0.5, True),
        ("silver", 0.9, False),
    ]


def _needs_little(x):
    if x.shape[0] > 600:
        raise torch.OutOfMemoryError("CUDA out of memory.")
    return torch_double(x)


def test_where_memory_is_too_small_a_smaller_case_is_timed_and_named(told, monkeypatch):
    told(3.0, 1.5)
    monkeypatch.setattr(speed, "_free_memory", lambda: 6 * 2**30)
    monkeypatch.setattr(speed.memory, "release", lambda: None)
    large = dataclasses.replace(SMALL, sizes={"rows": 2048, "columns": 8}, name="2048 × 8")
    found = speed.measure(doubled(peer=_needs_little, timing_case=large), torch.clone)
    assert found.case.sizes["rows"] == 512 and found.case.name == "512 × 8" and found.ratio is not None
    assert found.smaller == "Timed at 512 rows instead of 2048: this GPU has 6 GiB of free memory."


def test_an_answer_that_fails_where_it_is_timed_is_not_timed_and_the_reason_is_told(monkeypatch):
    class Calls(Timer):
        def times(self, calls):
            return [call() and 1.0 for call in calls]

    def fails(x):
        raise ValueError("no such block")

    monkeypatch.setattr(timers, "default_timer", Calls)
    with pytest.raises(speed.NotTimed, match=r"Not timed: in .* it failed\. ValueError: no such block"):
        speed.measure(doubled(timing_case=SMALL, peer=None), fails)


def test_without_a_timing_case_there_is_nothing_to_measure():
    with pytest.raises(ValueError, match=r"doubled has no timed\.case"):
        speed.measure(doubled(timing_case=None), torch.clone)


@pytest.mark.gpu
def test_on_a_gpu_the_peer_against_itself_is_as_fast_as_itself():
    found = speed.measure(doubled(), torch_double)
    assert found.ratio == pytest.approx(1.0, abs=0.25)
    assert found.own.peak == found.peers["torch_double"].peak == 2 * 4096 * 1024
    assert found.where == torch.cuda.get_device_name()
