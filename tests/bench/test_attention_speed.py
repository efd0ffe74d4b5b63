"""Times of `flashlearn.attention`: the page shows the record and nothing else; tiles are counted right."""

from __future__ import annotations

from pathlib import Path

from flashlearn.bench import attention_page, attention_speed
from flashlearn.bench.attention_speed import Row

PAGE = Path(__file__).parents[2] / "docs" / "attention.md"
RECORD = {
    "made": "2026-01-02T03:04:05+00:00",
    "device": {"gpu": "a GPU"},
    "versions": {"torch": "2.11.0", "triton": "3.6.0"},
}
ROWS = [
    Row("features", "softcap, causal, D 128", "forward and backward", "FlexAttention", 2.0, 3.0, 1.5, 1.1),
    Row("features", "softcap, causal, D 64", "forward and backward", "FlexAttention", 2.0, 4.0, 2.0, 1.1),
    Row(
        "ragged",
        "batch 0",
        "forward and backward",
        "padded",
        1.0,
        2.0,
        2.0,
        None,
        "9 sequences, 0.40 padding",
    ),
]


def test_the_page_shows_the_record_or_says_that_there_is_none():
    page = PAGE.read_text(encoding="utf-8")
    assert attention_page.with_measured_part(page, attention_page.measured_part()) == page


def test_a_record_is_a_table_with_device_and_date(tmp_path):
    file = tmp_path / "attention.json"
    attention_speed.save({**RECORD, "rows": [vars(row) for row in ROWS]}, file)
    part = attention_page.measured_part(file)
    assert "a GPU, 2026-01-02, torch 2.11.0" in part
    assert "| features | softcap, causal, D 128 | 2.000 | FlexAttention | 3.000 | 1.50 |" in part
    assert attention_page.measured_part(tmp_path / "none.json") == attention_page.NOT_MEASURED
    assert "relative to packed" in attention_page.padding(*attention_speed.load(file)).description


def test_the_summary_is_the_geometric_mean_of_each_feature():
    assert attention_speed.summary(ROWS) == [
        "features: softcap, causal against FlexAttention: 1.73, wanted 1.10"
    ]


def test_tiles_of_a_window_are_those_that_it_touches():
    assert attention_speed.tiles(256, 256) == 1 + 2 + 3 + 4
    assert attention_speed.tiles(256, 1) == 4
    assert attention_speed.tiles(256, 2) == 1 + 2 + 2 + 2


def test_lengths_of_documents_sum_to_what_is_asked_for():
    some = attention_speed.lengths(4096, 1024, seed=1)
    assert sum(some) == 4096
    assert max(some) <= 1024
