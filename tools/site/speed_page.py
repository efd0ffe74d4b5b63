"""How fast the kernels are: the records that come with the course, with device, versions and date."""

from __future__ import annotations

import html
from pathlib import Path

from rich.table import Table

from flashlearn.bench import attention_page, attention_speed, plots, tables
from flashlearn.bench.contestants import CUDNN
from flashlearn.bench.record import SHIPPED, Record, load, mean
from flashlearn.bench.tables import SIDES
from flashlearn.lessons.shared.picture_style import Picture
from tools.site.outputs import Pictures

INTRODUCTION = """# Speed

How fast attention is with the course's kernels, compared with PyTorch's own, FlexAttention and
FlashAttention-4. "Lessons 06–08" and "lesson 12" are the kernels that you write there. "Lesson 13" is the
package's pair for Hopper GPUs, which that lesson leads up to: the pair that you write in it is slower, and it
says why. Every figure was measured on the device that its section names, in one run, all contestants taking
turns. On a GPU of your own, `flashlearn bench` measures the same. How the kernels get there, one change at a
time, is the subject of [lesson 12](lessons/12_tuning.ipynb) and [lesson 13](lessons/13_hopper.ipynb).
"""

ATTENTION = """## `flashlearn.attention`

A batch of texts of different lengths, padded to the longest or packed one after another. For windows, caps,
ALiBi and short problems, see [the table](docs/attention.md#how-fast).
"""

TITLES = {
    "ladder": "Compared with cuDNN",
    "throughput_forward": "Forward pass",
    "throughput_backward": "Backward pass",
    "roofline_forward": "Roofline of the forward pass",
    "roofline_backward": "Roofline of the backward pass",
    "memory": "Memory",
}
"""Headings of the pictures, in their order."""

LONGEST = 250
"""Characters of a caption; of a longer description, which is the alternative text, the first sentence."""


def page(pictures: Pictures) -> str:
    """The page in Markdown: every record, the newest first."""
    found = [load(path) for path in sorted(Path(SHIPPED).glob("*.json"))]
    newest_first = sorted(found, key=lambda record: record.made, reverse=True)
    sections = (_section(record, pictures) for record in newest_first)
    return "\n\n".join([INTRODUCTION, *sections, *_attention(pictures)])


def newest(pictures: Pictures, name: str) -> str:
    """One picture of the newest record, as HTML, and what it says."""
    record = max((load(path) for path in Path(SHIPPED).glob("*.json")), key=lambda record: record.made)
    return shown(plots.every(record)[name], pictures, "_static/pictures/")


def _attention(pictures: Pictures) -> list[str]:
    """Packed sequences against padded ones, and where the table of `flashlearn.attention` is."""
    if not attention_page.RECORD.exists():
        return []
    picture = attention_page.padding(*attention_speed.load(attention_page.RECORD))
    return [ATTENTION, _raw(shown(picture, pictures, "_static/pictures/"))]


def _section(record: Record, pictures: Pictures) -> str:
    drawn = plots.every(record)
    parts = [f"## {record.device['gpu']}, {record.made[:10]}"]
    parts_of_record = list(tables.tables(record))
    parts += [one for one in parts_of_record if isinstance(one, str)]
    parts.append(_in_short(record))
    for name, title in TITLES.items():
        if name in drawn:
            parts += [f"### {title}", _raw(shown(drawn[name], pictures, "_static/pictures/"))]
    parts.append("### In numbers")
    parts += [_raw(table(one)) for one in parts_of_record if isinstance(one, Table)]
    return "\n\n".join(parts)


def _in_short(record: Record) -> str:
    """The means of the course's fastest kernels, in a sentence; nothing without cuDNN's to compare with."""
    apart = [(direction, causal) for direction, causal in SIDES if direction != "both"]
    found = [
        f"{record.contestants[name]} {', '.join(f'{mean(side):.2f}' for side in sides)}"
        for name in ("hopper", "tuned")
        if name in record.contestants and all(sides := [record.ratios(name, CUDNN, *side) for side in apart])
    ]
    if not found:
        return ""
    passes = ", ".join(f"{direction} {'causal' if causal else 'full'}" for direction, causal in apart)
    return f"In short, as multiples of the speed of PyTorch's cuDNN backend ({passes}): {'; '.join(found)}."


def shown(picture: Picture, pictures: Pictures, prefix: str) -> str:
    """A picture and its description as HTML."""
    image = pictures.extracted(picture.element(), prefix)
    words = picture.description
    caption = html.escape(words if len(words) < LONGEST else f"{words.partition('. ')[0]}.")
    return f"<figure>{image}<figcaption>{caption}</figcaption></figure>"


def table(made: Table) -> str:
    """A table for a terminal as HTML."""
    heads = "".join(f'<th scope="col">{html.escape(str(column.header))}</th>' for column in made.columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{html.escape(str(cell))}</td>" for cell in cells) + "</tr>"
        for cells in zip(*(column.cells for column in made.columns), strict=True)
    )
    caption = html.escape(str(made.title or ""))
    return (
        f'<div class="wide figures" tabindex="0" role="group" aria-label="{caption}"><table>'
        f"<caption>{caption}</caption><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )


def _raw(page: str) -> str:
    return f"```{{raw}} html\n{page}\n```"
