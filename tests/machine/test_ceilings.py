"""What a GPU reaches is measured once for each GPU, driver and torch."""

from __future__ import annotations

import pytest

from flashlearn.machine import ceilings as module
from flashlearn.machine.ceilings import Ceilings, ceilings


@pytest.fixture
def asked(monkeypatch):
    """Each measurement is counted, and gives other figures."""
    counted = []

    def measure():
        counted.append(0)
        return Ceilings(1e14 * len(counted), 1e12)

    monkeypatch.setattr(module, "_measure", measure)
    return counted


def test_a_gpu_is_measured_once(asked, monkeypatch):
    assert ceilings() == ceilings() == Ceilings(1e14, 1e12)
    monkeypatch.setattr(module, "environment_id", lambda: "another driver")
    assert ceilings() == Ceilings(2e14, 1e12)
    monkeypatch.undo()


def test_a_file_that_cannot_be_read_or_written_costs_a_measurement_and_nothing_else(asked, monkeypatch):
    module.cache_folder().mkdir(parents=True)
    (module.cache_folder() / "ceilings.json").write_text("{")
    assert ceilings().product == 1e14
    (module.cache_folder() / "ceilings.json").write_text('{"x": 3}')
    monkeypatch.setattr(module.Path, "replace", lambda self, target: (_ for _ in ()).throw(OSError()))
    assert ceilings().product == 2e14
