"""The measured part of docs/attention.md, written from a record and from nothing else.

$ python -m flashlearn.bench.attention_page flashlearn/bench/records/attention/h200.json docs/attention.md
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from flashlearn.bench.attention_speed import Row, load
from flashlearn.lessons.shared.picture_style import Picture, canvas, colour_of

__all__ = ["NOT_MEASURED", "RECORD", "measured_part", "padding", "table", "with_measured_part"]

RECORD = Path(__file__).parent / "records" / "attention" / "h200.json"
BEGIN, END = "<!-- measured: begin -->", "<!-- measured: end -->"
NOT_MEASURED = (
    "Not measured yet: `flashlearn bench --attention FILE` on a GPU writes the record of this table."
)
TITLES = {
    "base": "plain, against the kernels below it",
    "features": "features",
    "window": "window",
    "ragged": "packed against padded",
    "small": "small problems",
}


def table(record: dict[str, Any], rows: list[Row]) -> str:
    """The record as Markdown: device and date, and a line for each comparison."""
    lines = [
        f"Measured on {record['device']['gpu']}, {record['made'][:10]}, torch {record['versions']['torch']}, "
        f"triton {record['versions']['triton']}; bf16, medians, forward and backward pass through autograd.",
        "",
        "| | problem | ms | against | ms | ratio | |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        lines.append(
            f"| {TITLES.get(row.section, row.section)} | {row.name} | {row.ours:.3f} | {row.peer} "
            f"| {row.theirs:.3f} | {row.ratio:.2f} | {row.note} |"
        )
    return "\n".join(lines)


def measured_part(file: Path = RECORD) -> str:
    """The table of the record, or the sentence that there is none."""
    return table(*load(file)) if file.exists() else NOT_MEASURED


def with_measured_part(page: str, part: str) -> str:
    """The page with this text between its two marks."""
    before, rest = page.split(BEGIN)
    return f"{before}{BEGIN}\n\n{part}\n\n{END}{rest.split(END)[1]}"


def padding(record: dict[str, Any], rows: list[Row]) -> Picture:
    """How many times longer padded batches take, over the share of padding."""
    figure, (axes,) = canvas(7, 3.6)
    for number, name in enumerate(("padded", "padded, SDPA")):
        points = sorted(
            (float(row.note.split(", ")[1].split()[0]), row.ratio)
            for row in rows
            if row.section == "ragged" and row.peer == name
        )
        if points:
            axes.plot(*zip(*points, strict=True), "os"[number], color=colour_of(number), label=name)
    axes.axhline(1, linewidth=1, color="grey")
    axes.set_xlabel("share of padding in the batch")
    axes.set_ylabel("time relative to packed sequences")
    axes.set_ylim(bottom=0)
    axes.legend(frameon=False, labelcolor="grey")
    who = record["device"]["gpu"]
    return Picture(
        figure, f"{who}: time of padded batches relative to packed ones, over the share of padding."
    )


def main() -> None:
    """Write the measured part of a page from a record."""
    record, page = (Path(argument) for argument in sys.argv[1:3])
    page.write_text(
        with_measured_part(page.read_text(encoding="utf-8"), measured_part(record)), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
