"""Timing on a GPU, and predictions without one."""

from __future__ import annotations

import pytest
import torch

from flashlearn.exercise import Case, Exercise, Kind, Work, declared
from flashlearn.interpreter.observation import Observation, Traffic
from flashlearn.judging import speed
from flashlearn.machine import device
from flashlearn.running import timing

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
        "hints": ("", "", ""),
        "work": lambda inputs: Work(
            inputs["x"].numel(), 2 * inputs["x"].numel() * inputs["x"].element_size()
        ),
        "peer": torch_double,
        "peer_name": "torch_double",
        "timing_case": LARGE,
    }
    return declared(**{**fields, **changes})


def torch_double(x: torch.Tensor) -> torch.Tensor:
    return x * 2


def observed(exercise: Exercise, wasted: float = 1.0) -> tuple[dict, Observation]:
    case = exercise.cases[0]
    inputs = exercise.inputs(case, case.generator())
    size = inputs["x"].numel() * 4
    traffic = {"x_ptr": Traffic(unique_loaded=int(wasted * size)), "y_ptr": Traffic(unique_stored=size)}
    return inputs, Observation(traffic, {"elementwise": inputs["x"].numel()})


def test_counts_of_a_small_case_are_scaled_up_to_the_timing_case():
    exercise = doubled()
    found = speed.predict(exercise, *observed(exercise))
    assert (found.measured, found.where) == (False, LARGE.name)
    assert found.bytes == found.least_bytes == 2 * 2 * 4096 * 1024
    assert found.operations == 4096 * 1024
    assert found.predictions["H100"] == pytest.approx(found.bytes / device.GPUS["H100"].bandwidth)
    assert set(found.predictions) == set(device.GPUS)


def test_bytes_moved_in_vain_are_in_the_prediction():
    exercise = doubled()
    right = speed.predict(exercise, *observed(exercise))
    wasteful = speed.predict(exercise, *observed(exercise, wasted=3.0))
    assert wasteful.bytes == 2 * right.bytes
    assert wasteful.least_bytes == right.least_bytes


def test_the_case_with_the_fewest_padded_lanes_is_scaled_up():
    exercise = doubled()
    inputs, whole = observed(exercise)
    ragged = Observation(
        {"x_ptr": Traffic(unique_loaded=8 * inputs["x"].numel(), loaded=8 * inputs["x"].numel())},
        {"elementwise": 3 * inputs["x"].numel()},
    )
    assert ragged.bytes_requested > whole.bytes_requested
    ranked = [speed.padding(exercise, inputs, seen) for seen in (whole, ragged)]
    assert ranked[0] < ranked[1]
    nothing_to_do = doubled(work=lambda inputs: Work(0, 0))
    assert ranked[1] < speed.padding(nothing_to_do, inputs, whole)  # nothing can be scaled up from there
    without = doubled(timing_case=None)
    assert speed.padding(without, inputs, ragged) < speed.padding(without, inputs, whole)


def test_products_in_half_precision_run_at_the_tensor_cores_rate():
    exercise = doubled(timing_case=None)
    inputs, seen = observed(exercise)
    seen.operations["dot"] = int(1e12)
    single = speed.predict(exercise, inputs, seen)
    half = speed.predict(exercise, {"x": inputs["x"].half()}, seen)
    assert single.predictions["A100"] == pytest.approx(1e12 / device.GPUS["A100"].fp32)
    assert half.predictions["A100"] == pytest.approx(1e12 / device.GPUS["A100"].half)


def test_a_prediction_shorter_than_a_launch_is_not_made():
    exercise = doubled(timing_case=None)
    found = speed.predict(exercise, *observed(exercise))
    assert found.predictions == {}
    assert (found.where, found.bytes) == ("x of shape [3, 5] in float32", 2 * 15 * 4)


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
    assert speed.predict(exercise, *observed(exercise)).bytes == 2 * 4 * 4096 * 1024


def test_every_exercise_of_the_course_that_is_timed_can_be_sized_without_its_data():
    from flashlearn.lessons import all_exercises

    timed = [e for e in all_exercises().values() if e.timed.case is not None and e.judged.work is not None]
    for exercise in timed:
        inputs = speed._without_data(exercise, exercise.timed.case)
        assert inputs is not None, exercise.name
        assert exercise.judged.work(inputs).bytes > 0, exercise.name


def test_learner_and_peer_take_turns_and_medians_are_compared(monkeypatch):
    order, figures = [], iter([3.0, 1.5, 2.0, 1.0, 9.0, 1.1])

    def benchmark(function, inputs):
        order.append(function)
        return next(figures)

    monkeypatch.setattr(timing, "_median", benchmark)
    monkeypatch.setattr(timing, "_peak", lambda function, inputs: None)
    exercise = doubled(timing_case=Case("2 × 2", sizes={"rows": 2, "columns": 2}))
    found = speed.measure(exercise, torch.clone)
    assert order == [torch.clone, torch_double] * 3
    assert (found.milliseconds, found.peer_milliseconds, found.peer) == (3.0, 1.1, "torch_double")
    assert found.ratio == pytest.approx(1.1 / 3.0)
    assert found.measured


def test_a_very_slow_kernel_is_timed_once(monkeypatch):
    monkeypatch.setattr(timing, "_median", lambda function, inputs: 500.0)
    monkeypatch.setattr(timing, "_peak", lambda function, inputs: None)
    found = speed.measure(doubled(peer=None, timing_case=doubled().cases[0]), torch.clone)
    assert (found.milliseconds, found.peer_milliseconds, found.ratio) == (500.0, None, None)


def test_without_a_timing_case_there_is_nothing_to_measure():
    with pytest.raises(ValueError, match=r"doubled has no timed\.case"):
        speed.measure(doubled(timing_case=None), torch.clone)


@pytest.mark.gpu
def test_on_a_gpu_the_peer_against_itself_is_as_fast_as_itself():
    found = speed.measure(doubled(), torch_double)
    assert found.ratio == pytest.approx(1.0, abs=0.25)
    assert found.peak_bytes == found.peer_peak_bytes == 2 * 4096 * 1024
    assert found.where == torch.cuda.get_device_name()
