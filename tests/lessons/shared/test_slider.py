"""Sliders: small, frozen where no script runs, and the right picture for every combination of values."""

from __future__ import annotations

import base64
import json
import re
import shutil
import subprocess

import pytest

from flashlearn.lessons.shared.picture_style import Picture, canvas
from flashlearn.lessons.shared.slider import MAX_CHARACTERS, slider


def draw(n: int, block: float = 1.0) -> Picture:
    figure, (axes,) = canvas(1.5 + 0.3 * n, 1.0)
    axes.plot(range(n), [block] * n)
    axes.set_xlabel("n")
    return Picture(figure, f"{n} of <{block}>")


@pytest.fixture(scope="module")
def made():
    return slider(draw, {"n": 3, "block": -0.5}, n=(2, 3, 5), block=(1.0, -0.5))


def data_of(page: str) -> dict:
    return json.loads(re.search(r"^const data = (.*);$", page, re.MULTILINE)[1])


def test_without_a_script_the_picture_of_the_start_values_is_there(made):
    data, _ = made._repr_mimebundle_()
    still = re.sub(r"<script>.*</script>", "", data["text/html"], flags=re.DOTALL)
    source = re.search(r'src="data:image/png;base64,([^"]+)"', still)[1]
    assert source == data["image/png"] and base64.b64decode(source).startswith(b"\x89PNG")
    assert 'alt="3 of &lt;-0.5&gt;"' in still
    assert "Shown for n = 3, block = −0.5. Run the cell, and you can move n and block." in still
    assert "<input" not in still, "a slider that cannot move anything is not shown"
    assert "3 of <-0.5>" in data["text/plain"]


def test_every_combination_has_its_picture_in_the_order_the_script_counts(made):
    data = data_of(made.page())
    assert data["names"] == ["n", "block"] and data["values"] == [["2", "3", "5"], ["1", "−0.5"]]
    assert [says for _, _, says, _ in data["frames"]] == [
        f"{n} of <{b}>" for n in (2, 3, 5) for b in (1.0, -0.5)
    ]
    assert data["start"] == 3


def test_nothing_in_a_slider_ends_its_script_or_comes_from_elsewhere(made):
    page = made.page()
    assert page.count("</script>") == 1 and "3 of <-0.5>" not in page
    assert not re.search(r"https?://|import\(|fetch\(", page)


def test_one_source_gives_the_same_page_twice(made):
    again = slider(draw, {"n": 3, "block": -0.5}, n=(2, 3, 5), block=(1.0, -0.5))
    assert again.page() == made.page()


def test_a_slider_that_is_too_large_for_a_notebook_is_refused(monkeypatch):
    with pytest.raises(ValueError, match="41 pictures"):
        slider(draw, n=range(1, 42))
    monkeypatch.setattr("flashlearn.lessons.shared.slider.MAX_CHARACTERS", 1000)
    with pytest.raises(ValueError, match="characters: fewer values"):
        slider(draw, n=(1, 2))
    assert MAX_CHARACTERS == 300_000


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here to parse it")
def test_the_script_parses(made, tmp_path):
    script = tmp_path / "slider.js"
    script.write_text(re.search(r"<script>(.*)</script>", made.page(), re.DOTALL)[1])
    subprocess.run(["node", "--check", str(script)], check=True)
