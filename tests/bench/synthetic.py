"""A record that nobody measured: every figure follows from a formula, and tests say what comes out."""

from __future__ import annotations

from flashlearn.bench.problems import DIRECTIONS, REMEMBERED, SMALL, grid
from flashlearn.bench.record import Cell, MemoryUse, Record

RATES = {"plain": 300e12, "eager": 50e12, "sdpa cudnn": 600e12}
"""Operations/s, the same everywhere; eager attention ends at S 4096."""


def synthetic_record(**changes) -> Record:
    """Plain kernels at half of cuDNN's speed; their first time strays."""
    cells = tuple(
        Cell(
            name,
            problem,
            direction,
            1e3 * problem.operations(direction) / rate,
            0.01 if before or name != "plain" else 0.2,
            50,
            problem.S,
        )
        for before, problem in enumerate(grid())
        for direction in DIRECTIONS
        for name, rate in RATES.items()
        if name != "eager" or problem.S <= 4096
    )
    columns = [(problem, direction) for problem in SMALL for direction in ("forward", "both")]
    small = tuple(Cell(name, *column, 0.05, 0.01, 100) for column in columns for name in RATES)
    memory = tuple(
        MemoryUse(name, p, p.S**2 if name == "eager" else 1000 * p.S) for p in REMEMBERED for name in RATES
    )
    fields = {
        "made": "2000-01-01T00:00:00+00:00",
        "device": {"gpu": "a GPU that nobody built", "driver": "0", "clocks": {}},
        "versions": {"torch": "0", "triton": "0"},
        "reached": {"product": 7e14, "copy": 4e12},
        "contestants": {"plain": "lessons 06–08", "eager": "torch, eager", "sdpa cudnn": "SDPA, cuDNN"},
        "left_out": {"tuned": "There is none."},
        "cells": cells,
        "small": small,
        "memory": memory,
    }
    return Record(**{**fields, **changes})
