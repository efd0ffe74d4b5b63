"""The check of structure: altered notebooks are read as what was meant, and nothing in them is run."""

import json

import pytest

from flashlearn.classroom.collecting import structure
from flashlearn.classroom.collecting.cell_names import names_of
from flashlearn.classroom.handout import NotebookCell, read_cells
from tests.classroom.small_class import SETUP, STUB, answer, cells_of, handout, notebook, work

FIRST = handout().notebooks[0]
ASKED = handout().parts()["00"]


def examined(cells):
    return structure.examine("Ann", "ann/00_first.ipynb", notebook(cells), FIRST, ASKED)


def answers(submission) -> dict[str, str]:
    return {cell.exercise: cell.text for cell in submission.cells if cell.exercise}


BOTH = work("00_first", one="pass", two="wrong")


def test_a_notebook_as_it_should_be_is_its_imports_and_its_answers():
    found = examined(BOTH)
    assert [cell.text for cell in found.cells] == [SETUP, answer("one"), answer("two", "wrong")]
    assert found.notes == () and found.broken == ""


def test_the_key_is_that_of_what_is_run_and_not_of_ids_or_outputs():
    other = [cell._replace(id=f"other-{i}") if not cell.exercise else cell for i, cell in enumerate(BOTH)]
    assert examined(other).key == examined(BOTH).key
    assert examined(work("00_first", one="wrong", two="wrong")).key != examined(BOTH).key


def test_a_cell_of_the_lesson_is_run_where_an_answer_needs_it():
    needs = [c._replace(text="def one(x):\n    return half * x") if c.id == "ex-one" else c for c in BOTH]
    texts = [cell.text for cell in examined(needs).cells]
    assert "half = 0.5" in texts and "shown = math.pi\nshown" not in texts
    deleted = [cell for cell in needs if cell.id != "helps"]
    assert [cell.text for cell in examined(deleted).cells][:2] == [SETUP, "half = 0.5"]


def test_what_a_student_wrote_is_run_in_its_place_and_checks_are_not():
    extra = NotebookCell("new", "def helper(x):\n    return x\n\nprint(helper(1))")
    found = examined([*BOTH[:3], extra, *BOTH[3:], NotebookCell("more", 'r = flashlearn.check("one", one)')])
    assert [cell.text for cell in found.cells][1] == extra.text
    assert not any("check" in cell.text for cell in found.cells)


def test_a_second_answer_counts_and_a_second_stub_does_not():
    found = examined([*BOTH, NotebookCell("copy", answer("one", "wrong"))])
    assert answers(found)["one"] == answer("one", "wrong")
    assert "one is answered in 2 cells. The last one was graded." in found.notes
    found = examined([*BOTH, NotebookCell("copy", STUB.format(name="one"))])
    assert answers(found)["one"] == answer("one")
    assert STUB.format(name="one") not in [cell.text for cell in found.cells]
    assert "one has a second cell with only the stub, which was left out." in found.notes


def test_an_answer_whose_id_an_editor_exchanged_is_found_by_its_function():
    found = examined([cell._replace(id=f"cell{i}", exercise="") for i, cell in enumerate(BOTH)])
    assert set(answers(found)) == {"one", "two"}
    lost = [note for note in found.notes if "lost" in note]
    assert lost == ["The cells of 2 exercises have lost their ids. They were found by the functions' names."]


def test_an_answer_split_over_two_cells_is_run_as_both():
    parts = [
        NotebookCell("ex-one", "def part(x):\n    return x", "one"),
        NotebookCell("new", "def one(x):\n    return part(x)"),
    ]
    found = examined([*BOTH[:3], *parts, *BOTH[4:]])
    assert [cell.text for cell in found.cells][1:3] == [part.text for part in parts]
    assert answers(found)["one"] == parts[1].text


def test_a_renamed_function_in_its_own_cell_is_taken():
    renamed = [c._replace(text=answer("mine")) if c.id == "ex-one" else c for c in BOTH]
    found = examined(renamed)
    assert answers(found)["one"].endswith("\n\none = mine")
    assert "The function of one is called mine in your notebook. It was graded as one." in found.notes


def test_a_missing_answer_is_said_and_the_rest_is_kept():
    found = examined([cell for cell in BOTH if cell.id != "ex-two"])
    assert set(answers(found)) == {"one"}
    assert "No cell answers two: it was deleted, or its function was renamed." in found.notes


def test_another_order_is_said():
    assert any("different order" in note for note in examined([BOTH[0], BOTH[5], BOTH[3]]).notes)


def test_deleted_imports_are_brought_back():
    found = examined(BOTH[1:])
    assert found.cells[0].text == SETUP and any("imports" in note for note in found.notes)


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"null", b"[]", b'{"cells": 3}', b'{"cells": [1, null, "x"]}', b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"cells": [{"cell_type": "code", "source": {"a": 1}, "metadata": 7, "id": [1]}]}',
        json.dumps({"cells": [{"cell_type": "code", "source": "x"}] * 100_000}).encode(),
    ],
    ids=range(10),
)  # fmt: skip
def test_a_broken_notebook_is_a_sentence(content: bytes):
    found = structure.examine("Ann", "a.ipynb", content, FIRST, ASKED)
    assert found.broken.endswith(".") and not found.cells
    structure.belongs_to(content, "a.ipynb", handout().notebooks)


def test_text_that_cannot_be_encoded_is_made_so():
    content = json.dumps({"cells": [{"cell_type": "code", "source": "def one(x): '\ud800\0'"}]}).encode()
    ((_, text, _),) = read_cells(content).code
    assert text.encode() and "\0" not in text


def test_a_notebook_is_known_by_its_metadata_its_exercises_or_its_name():
    both = handout().notebooks
    assert structure.belongs_to(notebook([], "01_second"), "x.ipynb", both) is both[1]
    assert structure.belongs_to(notebook(cells_of("01_second")), "x.ipynb", both) is both[1]
    assert structure.belongs_to(notebook([]), "a/my 01_second (2).ipynb", both) is both[1]
    assert structure.belongs_to(notebook([]), "x.ipynb", both) is None


def test_names_of_a_cell_with_magics_or_with_errors_are_found():
    assert names_of("%timeit x\ndef f(a):\n    return a + b").needed == {"b"}
    assert {"broken", "y"} <= names_of("broken = = y").needed
    assert names_of("x = " + "(" * 5000).needed >= {"x"}


def test_a_cell_that_gives_its_function_the_exercises_name_itself_is_left_as_it_is():
    text = f"{answer('mine')}\n\none = mine"
    found = examined([c._replace(text=text) if c.id == "ex-one" else c for c in BOTH])
    assert answers(found)["one"] == text and found.notes == ()


def test_utf_16_is_read_and_merge_markers_are_named():
    wide = notebook(BOTH).decode().encode("utf-16")
    found = structure.examine("Ann", "ann/00_first.ipynb", wide, FIRST, ASKED)
    assert set(answers(found)) == {"one", "two"}
    torn = b"{\n<<<<<<< HEAD\n1\n=======\n2\n>>>>>>> theirs\n}"
    found = structure.examine("Ann", "ann/00_first.ipynb", torn, FIRST, ASKED)
    assert found.broken.startswith("00_first.ipynb has git's merge markers")


def test_a_file_that_cannot_be_read_is_named():
    found = structure.examine("Ann", "ann/00_first.ipynb", b"{", FIRST, ASKED)
    assert found.broken.startswith("00_first.ipynb is not a notebook")


def test_an_answer_in_a_text_cell_is_named():
    whole = json.loads(notebook(BOTH))
    for cell in whole["cells"]:
        if cell["id"] == "ex-one":
            cell["cell_type"] = "markdown"
    found = structure.examine("Ann", "a.ipynb", json.dumps(whole).encode(), FIRST, ASKED)
    assert any("Your answer to one is in a cell that is not a code cell" in note for note in found.notes)
