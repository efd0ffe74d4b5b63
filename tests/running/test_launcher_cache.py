"""What the course's launchers returned is kept, and nothing else is."""

from types import FunctionType, SimpleNamespace

import pytest
import torch

from flashlearn.running.launcher_cache import LauncherCache

CALLS: list[str] = []
SESSION = SimpleNamespace(launches=[])


def doubled(x, *, times=2):
    CALLS.append("doubled")
    SESSION.launches.append("launch")
    return x * times


def refused(x):
    CALLS.append("refused")
    return x


def in_place(x):
    CALLS.append("in_place")
    SESSION.launches.append("launch")
    return x.mul_(2)


def course(function: FunctionType) -> FunctionType:
    """The function as one of the course's modules would hold it."""
    copy = FunctionType(function.__code__.replace(co_filename="a module of the course"), globals())
    copy.__kwdefaults__, copy.__module__ = function.__kwdefaults__, "flashlearn.kernels.some"
    return copy


@pytest.fixture
def launcher():
    """A launcher of a learner whose namespace holds three functions of the course."""
    CALLS.clear()
    SESSION.launches.clear()
    names = {f.__name__: course(f) for f in (doubled, refused, in_place)}
    exec("def launch(x, times=2):\n    return in_place(refused(doubled(x, times=times)).clone())", names)
    return names["launch"]


def test_the_same_call_is_made_once_and_gives_the_same(launcher):
    again = LauncherCache()
    again.install(launcher, "a learner's file", [SESSION])
    first, second = launcher(torch.ones(3)), launcher(torch.ones(3))
    assert torch.equal(first, second) and first.data_ptr() != second.data_ptr()
    assert CALLS.count("doubled") == 1


@pytest.mark.parametrize("x, times", [(torch.zeros(3), 2), (torch.ones(3), 3), (torch.ones(4), 2)])
def test_other_arguments_are_another_call(launcher, x, times):
    LauncherCache().install(launcher, "a learner's file", [SESSION])
    launcher(torch.ones(3))
    assert torch.equal(launcher(x, times), 2 * times * x)
    assert CALLS.count("doubled") == 2


def test_what_launches_nothing_or_writes_into_its_argument_is_called_each_time(launcher):
    LauncherCache().install(launcher, "a learner's file", [SESSION])
    for _ in range(3):
        launcher(torch.ones(3))
    assert CALLS.count("refused") == CALLS.count("in_place") == 3


def test_a_learner_s_own_functions_stay_as_they_are(launcher):
    LauncherCache().install(launcher, "a module of the course", [SESSION])
    launcher(torch.ones(3))
    launcher(torch.ones(3))
    assert CALLS.count("doubled") == 2
