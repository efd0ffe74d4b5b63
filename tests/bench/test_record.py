"""A record keeps what was measured, says what follows from it, and is what its schema says."""

from __future__ import annotations

import io
import json
from dataclasses import fields, replace
from pathlib import Path

import pytest
from rich.console import Console

from flashlearn.bench import plots, record
from flashlearn.bench.problems import DIRECTIONS, Problem, grid
from flashlearn.bench.record import Cell, InvalidRecord, MemoryUse, Record, load, mean, save, shipped
from flashlearn.bench.tables import tables
from flashlearn.lessons.shared.picture_style import PALETTE
from tests.bench.synthetic import synthetic_record

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "bench.schema.json").read_text())


def test_a_record_comes_back_from_its_file_as_it_was(tmp_path):
    save(synthetic_record(), tmp_path / "one.json")
    assert load(tmp_path / "one.json") == synthetic_record()


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"version": 1}', '{"version": 99, "cells": []}'])
def test_a_file_that_is_no_record_is_refused_in_a_sentence(tmp_path, text):
    (tmp_path / "one.json").write_text(text)
    with pytest.raises(InvalidRecord, match=r"one\.json is (no record of|a record of another version)"):
        load(tmp_path / "one.json")


def test_the_schema_names_every_field_and_its_version():
    shapes = {"cell": Cell, "held": MemoryUse, "problem": Problem}
    assert set(SCHEMA["properties"]) == {"version", *(f.name for f in fields(Record))}
    assert SCHEMA["properties"]["version"]["const"] == record.VERSION
    for name, kind in shapes.items():
        assert set(SCHEMA["$defs"][name]["properties"]) == {f.name for f in fields(kind)}, name
    assert SCHEMA["$defs"]["cell"]["properties"]["direction"]["enum"] == list(DIRECTIONS)


def test_what_is_shipped_was_measured_on_a_gpu_and_can_be_read():
    assert shipped("no such record") is None
    found = [shipped(path.stem) for path in record.SHIPPED.glob("*.json")]
    assert all(one.device["capability"] and one.cells for one in found)


def test_operations_that_count_are_those_of_the_products_half_of_them_where_keys_are_hidden():
    problem = Problem(4, 16, 4096, 128)
    assert problem.operations("forward") == 4 * 4 * 16 * 4096**2 * 128
    assert problem.operations("backward") == 2.5 * problem.operations("forward")
    causal = Problem(4, 16, 4096, 128, causal=True)
    assert 2 * causal.operations("both") == problem.operations("both") == 3.5 * problem.operations("forward")
    assert len(grid()) == 12 and {p.B * p.S for p in grid()} == {16384}


def test_ratios_are_of_speeds_and_their_mean_is_geometric():
    made = synthetic_record()
    ratios = made.ratios("plain", "sdpa cudnn", "forward", causal=True)
    assert len(ratios) == 6 and mean(ratios) == pytest.approx(0.5)
    assert mean({"a": 0.5, "b": 2.0}) == pytest.approx(1.0) and mean({}) is None
    assert made.ratio("eager", "plain", grid()[-1], "forward") is None  # S 16384: not measured


def test_tables_mark_times_whose_calls_vary():
    written = io.StringIO()
    console = Console(file=written, width=160)
    for part in tables(synthetic_record()):
        console.print(part)
    said = written.getvalue()
    assert "0.50 (0.50)" in said and "Left out: tuned. There is none." in said
    assert said.count("300 ~") == 3 and "~ marks times whose single calls vary" in said
    assert "50" in said.split("Wall time of one call")[1]
    steady = synthetic_record(cells=synthetic_record().cells[3:])
    assert not any("stray" in part for part in tables(steady) if isinstance(part, str) and "device" in part)


def test_every_picture_says_what_it_shows():
    drawn = plots.every(synthetic_record())
    assert set(drawn) == {
        *("throughput_forward", "throughput_backward", "roofline_forward", "roofline_backward"),
        *("ladder", "memory"),
    }
    assert all("a GPU that nobody built, 2000-01-01" in one.description for one in drawn.values())
    assert "lessons 06–08 forward 0.50" in drawn["ladder"].description
    assert "torch, eager 256 MiB at S 16384" in drawn["memory"].description
    assert "Arithmetic limits 12 of 12 shapes" in drawn["roofline_forward"].description
    assert all(len(one.png()) > 1000 for one in drawn.values())


@pytest.mark.parametrize("name", ["throughput_forward", "roofline_backward", "memory"])
def test_contestants_differ_in_their_markers_and_those_of_one_colour_in_their_lines_too(name):
    full, titles = synthetic_record(), load(record.SHIPPED / "h200.json").contestants
    cells = tuple(replace(c, contestant=n) for n in titles for c in full.cells if c.contestant == "plain")
    memory = tuple(replace(m, contestant=n) for n in titles for m in full.memory if m.contestant == "plain")
    drawn = plots.every(replace(full, contestants=titles, cells=cells, memory=memory))[name].figure
    lines, labels = drawn.axes[0].get_legend_handles_labels()
    assert labels == list(titles.values()) and len(labels) > len(PALETTE)
    assert len({line.get_marker() for line in lines}) == len(lines)
    assert len({(line.get_color(), line.get_markerfacecolor() == "none") for line in lines}) == len(lines)


@pytest.mark.parametrize("direction", DIRECTIONS[:2])
def test_every_point_lies_within_its_panel_however_much_the_panels_differ(direction):
    uneven = synthetic_record()
    slower = tuple(
        c if c.problem.D == 128 else replace(c, milliseconds=4 * c.milliseconds) for c in uneven.cells
    )
    figure = plots.throughput(replace(uneven, cells=slower), direction).figure
    for axes in figure.axes:
        low, high = axes.get_ylim()
        drawn = [y for line in axes.lines for y in line.get_ydata()]
        assert drawn
        assert all(low <= y <= high for y in drawn)
