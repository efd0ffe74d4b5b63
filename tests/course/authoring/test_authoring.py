"""Both notebooks come from one source, and nothing that differs from it goes unnoticed."""

from __future__ import annotations

import inspect
import json
from pathlib import Path

import nbformat
import pytest
from typer.testing import CliRunner

from flashlearn.course import authoring, installed_cell
from flashlearn.course.authoring import __main__ as command_line
from flashlearn.course.authoring import builder, notebook
from flashlearn.course.authoring.files import choose
from flashlearn.course.authoring.regions import SourceError
from flashlearn.course.authoring.source import read_lesson
from flashlearn.course.lesson_reader import read_hints

SOURCE = """\
# ---
# jupyter:
#   kernelspec:
#     name: python3
# ---

# %% [markdown]
# # A tour
#
# Rows are summed.

# %%
# cat the rows, says this comment, and it is none of the shell's
# %matplotlib inline
import math

# %% exercise="row_sum"
# INCLUDE: flashlearn/kernels/tour.py:row_kernel


def row_sum(row):
    ### BEGIN SOLUTION
    # STUB: if row:
    # STUB:     raise NotImplementedError("TODO row_sum: add the entries")
    # every entry once
    return row_kernel(row)
    ### END SOLUTION


# %% tags=["nbval-check-output"]
print("sum", 1 + 1)

# %%
math.pi
"""

KERNELS = """\
import functools


# what comes before is not the kernel's
@functools.cache
@functools.wraps(sum)
def row_kernel(row):
    total = 0
    ### BEGIN SOLUTION
    # STUB: raise NotImplementedError("TODO row_kernel: the loop")
    for x in row:
        total += x
    return total
    ### END SOLUTION


# this belongs to the next one
def other():
    return 1


LIMIT = 3
"""

DECLARED = {"row_sum": "00"}
HERE = "flashlearn/lessons/lesson_00_tour/notebook.py"


class Course:
    """A course in a temporary folder: one lesson, written, built and edited by a test."""

    def __init__(self, root: Path):
        self.root = root
        for folder in ("solutions", "notebooks", "flashlearn/kernels", "flashlearn/lessons/lesson_00_tour"):
            (root / folder).mkdir(parents=True)
        self.source = root / "flashlearn/lessons/lesson_00_tour/notebook.py"
        self.kernels = root / "flashlearn/kernels/tour.py"
        self.learner = root / "notebooks/00_tour.ipynb"
        self.solved = root / "solutions/00_tour.ipynb"
        self.kernels.write_text(KERNELS)
        self.source.write_text(SOURCE)

    def add(self, name: str, text: str) -> None:
        folder = self.root / f"flashlearn/lessons/lesson_{name}"
        folder.mkdir()
        (folder / "notebook.py").write_text(text)

    def edit(self, old: str, new: str, file: Path | None = None) -> None:
        file = file or self.source
        text = file.read_text()
        assert old in text
        file.write_text(text.replace(old, new))

    def build(self, **options) -> builder.Built:
        options = {"execute": False, "device": "CPU"} | options
        return authoring.build(root=self.root, **options)[0]

    def pretend_executed(self, device: str = "CPU") -> None:
        """Give every code cell an output, as an execution on `device` would."""
        self.build()
        made = notebook.read(self.solved)
        code = [cell for cell in made.cells if cell.cell_type == "code"]
        for count, cell in enumerate(code, 1):
            cell.execution_count = count
            cell.outputs = [nbformat.v4.new_output("stream", text=f"from {device}: {count}\n")]
        made.metadata["flashlearn"].update(device=device, source=notebook.code_fingerprint(made.cells))
        notebook.write(made, self.solved)

    def change(self, path: Path, edit) -> None:
        """Edit a notebook by hand."""
        content = json.loads(path.read_text())
        edit(content)
        path.write_text(json.dumps(content))

    def check(self, exercises=DECLARED) -> list[authoring.Stale]:
        return authoring.check(self.root, exercises)

    def cells(self, path: Path) -> list[nbformat.NotebookNode]:
        """Those of the source: without the links to other lessons and the cell about the installation."""
        ends = notebook.read(path).cells[1:-1]
        return [cell for cell in ends if cell.id != installed_cell.IDENTITY]

    def exercise(self, path: Path) -> nbformat.NotebookNode:
        return next(cell for cell in self.cells(path) if cell.id == "ex-row_sum")

    def problems(self) -> list[str]:
        return [str(problem) for problem in read_lesson(self.source, self.root).problems]


@pytest.fixture
def course(tmp_path: Path) -> Course:
    return Course(tmp_path)


@pytest.fixture
def built(course: Course) -> Course:
    course.pretend_executed()
    assert course.check() == []
    return course


# building


def test_two_builds_write_the_same_bytes_and_the_second_writes_nothing(course):
    assert len(course.build().written) == 2
    first = [path.read_bytes() for path in (course.learner, course.solved)]
    assert course.build().written == ()
    assert [path.read_bytes() for path in (course.learner, course.solved)] == first


def test_both_notebooks_are_valid_and_carry_nothing_of_jupytext(course):
    course.build()
    for path in (course.learner, course.solved):
        made = nbformat.read(path, as_version=4)
        nbformat.validate(made)
        assert made.metadata.kernelspec.name == "python3"
        assert "jupytext" not in made.metadata
        assert [dict(cell.metadata) for cell in course.cells(path)] == [
            {},
            {},
            {"exercise": "row_sum"},
            {"tags": ["nbval-check-output"]},
            {},
        ]


def test_the_learner_gets_the_stub_at_the_region_s_indentation_and_none_of_the_solution(course):
    course.build()
    assert course.exercise(course.learner).source == (
        "@functools.cache\n@functools.wraps(sum)\ndef row_kernel(row):\n    total = 0\n"
        '    raise NotImplementedError("TODO row_kernel: the loop")\n\n\n'
        'def row_sum(row):\n    if row:\n        raise NotImplementedError("TODO row_sum: add the entries")'
    )


def test_the_solved_notebook_keeps_the_region_with_its_markers(course):
    course.build()
    source = course.exercise(course.solved).source
    assert source.count("### BEGIN SOLUTION") == source.count("### END SOLUTION") == 2
    assert "    return row_kernel(row)\n" in source


def test_an_include_brings_decorators_and_the_closing_marker_but_no_neighbour(course):
    course.build()
    source = course.exercise(course.solved).source
    assert source.startswith("@functools.cache\n@functools.wraps(sum)\ndef row_kernel(row):")
    assert "    return total\n    ### END SOLUTION\n\n\ndef row_sum" in source
    assert "comes before" not in source and "belongs to the next" not in source


def test_a_kernel_included_outside_an_exercise_is_shown_finished(course):
    course.edit(
        "math.pi",
        "# INCLUDE: flashlearn/kernels/tour.py:row_kernel\n# INCLUDE: flashlearn/kernels/tour.py:LIMIT",
    )
    course.build()
    shown = course.cells(course.learner)[-1].source
    assert shown.endswith("    for x in row:\n        total += x\n    return total\nLIMIT = 3")
    assert "SOLUTION" not in shown and "STUB" not in shown


def test_a_magic_is_uncommented_and_a_comment_that_looks_like_a_command_is_not(course):
    course.build()
    assert course.cells(course.learner)[1].source.splitlines()[:2] == [
        "# cat the rows, says this comment, and it is none of the shell's",
        "%matplotlib inline",
    ]


HINTS = """
# HINT: One program
#     per row.
# HINT: A block of `[BLOCK]`,
#     and one number.
# HINT: `tl.sum(x, axis=0)`
"""


def test_hints_are_in_neither_notebook_and_may_span_lines(course):
    before = course.build()
    course.edit(ROW_SUM, ROW_SUM + HINTS.rstrip())
    cell = read_lesson(course.source, course.root).exercises["row_sum"]
    wanted = ("One program per row.", "A block of `[BLOCK]`, and one number.", "`tl.sum(x, axis=0)`")
    assert cell.hints == wanted == read_hints(course.source, "row_sum")
    assert before.written and course.build().written == ()


def test_headings_of_exercises_are_numbered_in_their_order_unless_there_is_only_one(course):
    heading = "# %% [markdown]\n# ### Exercise: `row_sum` · core\n\n"
    course.edit(ROW_SUM, heading + ROW_SUM)
    course.build()
    assert any(cell.source == "### Exercise: `row_sum` · core" for cell in course.cells(course.solved))
    course.edit(LAST, heading.replace("core", "stretch") + LAST)
    course.build()
    for path in (course.learner, course.solved):
        headings = [cell.source for cell in course.cells(path) if cell.source.startswith("###")]
        assert headings == ["### Exercise 1: `row_sum` · core", "### Exercise 2: `row_sum` · stretch"]


def test_remarks_to_the_formatter_and_the_linter_are_not_shown(course):
    course.edit("    total = 0\n", "    total = 0  # fmt: skip\n", course.kernels)
    course.edit("math.pi", "math.pi  # noqa: B018")
    course.build()
    assert "    total = 0\n" in course.exercise(course.learner).source
    assert course.cells(course.learner)[-1].source == "math.pi"


def test_ids_of_other_cells_stay_when_a_cell_is_inserted(course):
    course.build()
    before = [cell.id for cell in course.cells(course.learner)]
    course.edit("# %%\nmath.pi", "# %%\nmath.e\n\n# %%\nmath.pi")
    course.build()
    after = [cell.id for cell in course.cells(course.learner)]
    assert len(after) == len(before) + 1
    assert [identity for identity in after if identity in before] == before


def test_both_ends_of_both_notebooks_link_to_the_lessons_before_and_after(course):
    course.add("02_rows", "# %% [markdown]\n# # Rows, again\n")
    course.build()
    for path in (course.learner, course.solved):
        first, *_, last = notebook.read(path).cells
        assert first.source == last.source == "This is the first lesson · [02 Rows, again →](02_rows.ipynb)"
    end = notebook.read(course.learner.with_name("02_rows.ipynb")).cells[-1]
    assert end.source == "[← 00 A tour](00_tour.ipynb) · Lesson 03 does not exist yet"


def test_check_finds_a_notebook_whose_links_are_older_than_the_lessons(built):
    built.add("02_rows", "# %% [markdown]\n# # Rows, again\n")
    whys = [stale.why for stale in built.check() if stale.file.endswith("00_tour.ipynb")]
    assert len(whys) == 2 and all("the source of line 7 differs" in why for why in whys)


def test_only_the_learner_s_notebook_says_what_to_install_and_no_fingerprint_knows_that_cell(built):
    learner, solved = notebook.read(built.learner), notebook.read(built.solved)
    first = next(cell for cell in learner.cells if cell.cell_type == "code")
    assert first.id == installed_cell.IDENTITY and first.source == installed_cell.TEXT
    assert all(cell.id != installed_cell.IDENTITY for cell in solved.cells)
    of_lesson = [cell for cell in learner.cells if cell is not first]
    assert learner.metadata.flashlearn.built == notebook.fingerprint(of_lesson)
    built.change(built.learner, lambda n: n["cells"].pop(learner.cells.index(first)))
    assert [stale.why.split(": ")[1] for stale in built.check()] == [
        "the cell of a missing package is missing"
    ]


def test_cells_with_equal_content_get_different_ids(course):
    course.edit("# %%\nmath.pi", "# %%\nmath.pi\n\n# %%\nmath.pi\n\n# %% [markdown]\n# math.pi")
    course.build()
    ids = [cell.id for cell in course.cells(course.learner)]
    assert len(set(ids)) == len(ids)
    assert ids[-2] == f"{ids[-3]}-2"


@pytest.mark.parametrize(
    "asked",
    ["00", "0", "00_tour", "flashlearn/lessons/lesson_00_tour/notebook.py", "notebooks/00_tour.ipynb"],
)
def test_a_lesson_is_found_by_number_name_or_either_path(course, asked):
    course.add("01_next", "# %%\n1\n")
    assert [path.parent.name for path in choose(course.root, [asked])] == ["lesson_00_tour"]


def test_a_lesson_that_does_not_exist_is_named_with_those_that_do(course):
    with pytest.raises(authoring.CourseError, match=r"no lesson 07: there are 00_tour"):
        choose(course.root, ["07"])


# outputs


def test_prose_may_change_without_losing_outputs_or_running_again(built):
    built.edit("Rows are summed", "Rows are added")
    result = built.build(execute=True)
    assert not result.executed and result.stale == ()
    assert built.cells(built.solved)[-1].outputs[0].text == "from CPU: 4\n"
    assert built.check() == []


def test_without_execution_only_changed_cells_lose_their_outputs(built):
    built.edit('print("sum", 1 + 1)', 'print("sum", 2 + 2)')
    result = built.build(execute=False)
    assert result.stale == ("flashlearn/lessons/lesson_00_tour/notebook.py:30",)
    assert [bool(cell.get("outputs")) for cell in built.cells(built.solved)] == [
        False,
        True,
        True,
        False,
        True,
    ]


def test_a_cpu_build_keeps_outputs_measured_on_a_gpu(course):
    course.pretend_executed("NVIDIA H200")
    course.edit('print("sum", 1 + 1)', 'print("sum", 2 + 2)')
    result = course.build(execute=True, device="CPU")
    assert not result.executed
    assert "measured on NVIDIA H200 kept" in result.outputs
    assert result.stale == ("flashlearn/lessons/lesson_00_tour/notebook.py:30",)
    assert course.cells(course.solved)[-1].outputs[0].text == "from NVIDIA H200: 4\n"
    stale = course.check()
    assert [s.file for s in stale] == ["solutions/00_tour.ipynb"]
    assert "lesson_00_tour/notebook.py:30" in stale[0].why and "NVIDIA H200" in stale[0].fix


def test_a_removed_cell_makes_the_remaining_outputs_old(built):
    built.edit('# %% tags=["nbval-check-output"]\nprint("sum", 1 + 1)\n', "")
    assert built.build(execute=False).stale == ()
    assert [s.why for s in built.check()] == ["has outputs of an older source"]


@pytest.mark.parametrize(
    ("made_on", "here", "runs"),
    [
        ("CPU", "CPU", True),
        ("NVIDIA A100", "NVIDIA H200", True),
        ("NVIDIA A100", "CPU", False),
        ("cuda:0", "CPU", False),
    ],
)
def test_a_changed_lesson_runs_unless_that_would_replace_a_gpu_s_outputs(
    course, monkeypatch, made_on, here, runs
):
    course.pretend_executed(made_on)
    course.edit("math.pi", "math.tau")
    ran = []
    monkeypatch.setattr(builder.execute, "execute", lambda solved, *rest: ran.append(solved))
    assert course.build(execute=True, device=here).executed == bool(ran) == runs
    course.build(execute=True, device=here, force=True)
    assert len(ran) == runs + 1


def test_outputs_lose_addresses_paths_timings_and_widgets():
    cell = nbformat.v4.new_code_cell("x", metadata={"execution": {"iopub.execute_input": "now"}})
    cell.outputs = [
        nbformat.v4.new_output("stream", text="<f at 0x7f00aabbccdd> /home/me/course/solutions/a.py\n"),
        nbformat.v4.new_output("display_data", data={notebook.WIDGET: {"model_id": "1"}}),
        nbformat.v4.new_output("display_data", data={"image/png": "/home/me", "text/plain": "/home/me"}),
        nbformat.v4.new_output("error", ename="E", evalue="0x12", traceback=["/tmp/ipykernel_12/34.py in f"]),
    ]
    made = nbformat.v4.new_notebook(cells=[cell], metadata={"widgets": {}})
    notebook.clean(made, {"/home/me/course/": "", "/home/me": "~"})
    assert "widgets" not in made.metadata and "execution" not in cell.metadata
    stream, image, error = cell.outputs
    assert stream.text == "<f at 0x…> solutions/a.py\n"
    assert image.data == {"image/png": "/home/me", "text/plain": "~"}
    assert (error.evalue, error.traceback) == ("0x12", ["<cell> in f"])


@pytest.mark.slow
def test_execution_is_strict_apart_from_the_learner_and_recorded(course, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_VERDICTS", str(course.root / "verdicts"))
    names = ("FLASHLEARN_STRICT", "FLASHLEARN_WAIT", "FLASHLEARN_HOME", "FLASHLEARN_VERDICTS")
    course.edit(
        "math.pi", f"import os\nprint([os.environ.get(n) for n in {names}])\nprint(os.getcwd())\nobject()"
    )
    course.edit("import math\n", "import functools, math\n")
    told = []
    result = course.build(execute=True, progress=lambda *state: told.append(state))
    assert result.executed and result.stale == () and len(result.written) == 2
    assert told[-1] == ("00_tour", 7, 7)
    last = course.cells(course.solved)[-1]
    assert last.outputs[0].text == "['1', '1', '.flashlearn/progress', None]\nsolutions\n"
    assert last.outputs[1].data["text/plain"] == "<object at 0x…>"
    made = notebook.read(course.solved)
    assert set(made.metadata.flashlearn) == {
        "lesson",
        "built",
        "device",
        "source",
        "torch",
        "triton",
        "sympy",
    }
    assert made.metadata.flashlearn.device == "CPU"
    assert course.check() == []
    assert course.build(execute=True).written == ()


@pytest.mark.slow
def test_a_solution_that_fails_is_named_at_the_author_s_line_and_not_written(course):
    course.edit("total += x", "total += y", course.kernels)
    course.edit("math.pi", "row_sum((1, 2))")
    course.edit("import math\n", "import functools, math\n")
    with pytest.raises(
        authoring.ExecutionError, match=r"^flashlearn/kernels/tour.py:12: .* NameError: .*'y'"
    ):
        course.build(execute=True)
    assert not course.solved.exists()


# drift: one test per kind


def test_check_finds_a_source_that_was_changed_without_a_build(built):
    built.edit('print("sum", 1 + 1)', 'print("sum", 3)')
    stale = built.check()
    assert [s.file for s in stale] == ["notebooks/00_tour.ipynb", "solutions/00_tour.ipynb"]
    assert all(
        "older than flashlearn/lessons/lesson_00_tour/notebook.py: " in s.why and "line 30" in s.why
        for s in stale
    )
    assert {s.fix for s in stale} == {"make build"}


def test_check_finds_a_changed_kernel_behind_an_include(built):
    built.edit("total = 0", "total = 0.0", built.kernels)
    assert all("source of line 17 (ex-row_sum) differs" in s.why for s in built.check())
    assert len(built.check()) == 2


def test_check_finds_a_notebook_edited_by_hand_and_says_where_to_take_the_change(built):
    built.change(built.learner, lambda n: n["cells"][1].update(source="# Mine"))
    (stale,) = built.check()
    assert stale.file == "notebooks/00_tour.ipynb"
    assert stale.why == "was edited by hand: the source of line 7 differs"
    assert (
        stale.fix
        == "take what is worth keeping into flashlearn/lessons/lesson_00_tour/notebook.py, then make build"
    )


def own(n: dict, at: int) -> dict:
    """A cell of a notebook's JSON by its place in both: the cell about the installation is not counted."""
    return [cell for cell in n["cells"] if cell["id"] != installed_cell.IDENTITY][at]


@pytest.mark.parametrize(
    ("edit", "why"),
    [
        (lambda n: n["cells"].remove(own(n, 3)), "the cell of line 17 (ex-row_sum) is missing"),
        (lambda n: n["cells"].append(dict(n["cells"][1], id="new", source="more")), "(`more`) is not of"),
        (lambda n: n["cells"].append(n["cells"][1]), "(`# A tour`) is not of"),
        (lambda n: n["cells"].reverse(), "the cells are in another order"),
        (lambda n: own(n, 4).update(metadata={}), "the metadata of line 30 differs"),
        (lambda n: n["cells"][1].update(cell_type="raw"), "the type of line 7 differs"),
    ],
    ids=["missing", "added", "doubled", "moved", "metadata", "type"],
)
def test_check_finds_cells_that_are_not_the_source_s(built, edit, why):
    for path in (built.learner, built.solved):
        built.change(path, edit)
    stale = built.check()
    assert len(stale) == 2
    assert all(s.why.startswith("was edited by hand: ") and why in s.why for s in stale)


def test_check_finds_outputs_in_a_learner_s_notebook(built):
    built.change(built.learner, lambda n: n["cells"][2].update(execution_count=1))
    assert [(s.file, s.why) for s in built.check()] == [
        ("notebooks/00_tour.ipynb", "has outputs; a learner's notebook has none")
    ]


def test_check_finds_missing_and_damaged_notebooks(built):
    built.learner.unlink()
    built.solved.write_text("<<<<<<< ours")
    assert [s.file for s in built.check()] == ["notebooks/00_tour.ipynb", "solutions/00_tour.ipynb"]
    assert [s.why.split(":")[0] for s in built.check()] == ["is missing", "00_tour.ipynb is not a notebook"]
    built.build()
    assert all("never executed" in s.why for s in built.check())


def test_check_finds_an_error_in_a_solved_notebook_unless_the_cell_asks_for_one(built):
    error = {"output_type": "error", "ename": "E", "evalue": "", "traceback": []}
    built.change(built.solved, lambda n: n["cells"][5]["outputs"].append(error))
    assert [s.why for s in built.check()] == ["shows an error at line 33"]
    built.edit("# %%\nmath.pi", '# %% tags=["raises-exception"]\nmath.pi')
    built.pretend_executed()
    built.change(built.solved, lambda n: n["cells"][5]["outputs"].append(error))
    assert built.check() == []


def test_check_finds_code_that_was_never_executed(built):
    built.change(built.solved, lambda n: n["cells"][5].update(execution_count=None, outputs=[]))
    (stale,) = built.check()
    assert (
        stale.why
        == "has code cells that were never executed: flashlearn/lessons/lesson_00_tour/notebook.py:33"
    )


def test_check_finds_a_notebook_without_a_source(built):
    built.learner.with_name("07_gone.ipynb").write_text(built.learner.read_text())
    assert [(s.file, s.why) for s in built.check()] == [
        ("notebooks/07_gone.ipynb", "has no source flashlearn/lessons/lesson_07_gone/notebook.py")
    ]


def test_check_finds_an_undeclared_a_cell_less_and_a_misplaced_exercise(built):
    assert [s.why for s in built.check({})] == ["row_sum is no declared exercise"]
    assert [s.why for s in built.check({**DECLARED, "scaled_add": "00"})] == [
        "scaled_add is declared but has no cell"
    ]
    assert [s.why for s in built.check({"row_sum": "02"})] == ["row_sum is declared for lesson 02"]


def test_check_finds_two_cells_for_one_exercise_in_two_lessons(built):
    built.add("01_next", SOURCE)
    authoring.build(root=built.root, execute=False)
    assert any(
        s.why == "a second cell for row_sum: the first is flashlearn/lessons/lesson_00_tour/notebook.py:17"
        and s.file == "flashlearn/lessons/lesson_01_next/notebook.py:17"
        for s in built.check()
    )


# what is wrong in a source, with file and line


TWO_STUBS = (
    '    # STUB: if row:\n    # STUB:     raise NotImplementedError("TODO row_sum: add the entries")\n'
)
RETURN = "    return row_kernel(row)\n"
ROW_SUM = '# %% exercise="row_sum"'
LAST = "# %%\nmath.pi"

FAULTS = [
    (TWO_STUBS, "", 22, "a solution region without STUB"),
    (
        "    # every entry once\n",
        "    ### BEGIN SOLUTION\n",
        25,
        "BEGIN SOLUTION inside the region that began at line 22",
    ),
    (RETURN + "    ### END SOLUTION\n", RETURN, 22, "BEGIN SOLUTION without an END"),
    ("    ### BEGIN SOLUTION\n", "", 22, "STUB outside a solution region"),
    ("    ### BEGIN SOLUTION\n", "", 26, "END SOLUTION without a BEGIN"),
    ("### BEGIN SOLUTION", "# BEGIN SOLUTION", 22, "cannot read `# BEGIN SOLUTION`"),
    (ROW_SUM, "# %% exercise=row_sum", 17, "cannot read `exercise=row_sum`"),
    (ROW_SUM, "# %%", 22, "a solution region outside an exercise's cell"),
    (ROW_SUM, '# %% exercise="row_max"', 17, "the solution of row_max defines no function of that name"),
    (ROW_SUM, '# %% exercise="row sum"', 17, "'row sum' cannot name an exercise"),
    (LAST, '# %% [markdown] exercise="prose"\n# words', 33, "prose is a markdown cell"),
    (LAST, ROW_SUM + "\ndef row_sum(): pass", 33, "a second cell for row_sum: the first is at line 17"),
    (LAST, '# %% exercise="given"\ndef given(): pass', 33, "given has no solution region"),
    (LAST, "# %%\n# HINT: Add.", 33, "HINT outside an exercise's cell"),
    (ROW_SUM, f"{ROW_SUM}\n# HINT: Add.", 17, "row_sum has 1 hints instead of 3"),
    (ROW_SUM, f"{ROW_SUM}\n#HINT: Add.", 18, "cannot read `#HINT: Add.`"),
    (LAST, "# %% [markdown]\n# ### Exercise 2: `row_sum`", 34, "exercises are numbered by build"),
    ("    # STUB: if row:\n", "    # STUB: if row\n", 17, "the stub of row_sum does not parse"),
    (RETURN, "    return row_kernel(\n", 17, "the solution of row_sum does not parse"),
    (
        "tour.py:row_kernel",
        "tour.py:row_colonel",
        18,
        "INCLUDE of row_colonel, which flashlearn/kernels/tour.py does not define",
    ),
    (
        "kernels/tour.py",
        "kernels/tours.py",
        18,
        "INCLUDE of flashlearn/kernels/tours.py, which is not in the course",
    ),
]


@pytest.mark.parametrize(("old", "new", "line", "message"), FAULTS)
def test_what_is_wrong_in_a_source_is_said_with_its_line(course, old, new, line, message):
    course.edit(old, new)
    assert any(
        p.startswith(f"flashlearn/lessons/lesson_00_tour/notebook.py:{line}: {message}")
        for p in course.problems()
    ), course.problems()
    with pytest.raises(SourceError):
        course.build()
    assert not course.learner.exists()
    assert any(s.file == f"flashlearn/lessons/lesson_00_tour/notebook.py:{line}" for s in course.check())


def test_a_stub_that_does_not_say_todo_is_refused(course):
    course.edit("TODO ", "do ")
    course.edit("TODO ", "do ", course.kernels)
    assert "does not say TODO" in course.problems()[0]


def test_a_wrong_region_in_an_included_kernel_is_named_in_the_kernel_s_file(course):
    course.edit("    ### END SOLUTION", "", course.kernels)
    course.edit(RETURN + "    ### END SOLUTION\n", RETURN)
    assert course.problems()[:2] == [
        "flashlearn/kernels/tour.py:9: BEGIN SOLUTION without an END SOLUTION in its cell",
        f"{HERE}:22: BEGIN SOLUTION inside the region that began at line 9",
    ]


def test_text_before_the_first_cell_is_refused(course):
    course.source.write_text("import math\n# %%\n1\n")
    assert course.problems() == [
        "flashlearn/lessons/lesson_00_tour/notebook.py:1: text before the first cell: begin with `# %%`"
    ]


def test_a_cell_marker_inside_a_string_starts_no_cell(course):
    course.edit("math.pi", 'text = """\n# %% not a cell\n"""\n\n# %%\ntext')
    lesson = read_lesson(course.source, course.root)
    assert [cell.place.number for cell in lesson.cells[1:-1]] == [7, 12, 17, 30, 33, 38]


# loading


def test_the_source_gives_the_solution_and_the_learner_s_notebook_the_stub(course):
    course.edit("import math\n", "import functools, math\n")
    course.build()
    for path in (course.source, course.solved):
        assert authoring.load_exercise(path, "row_sum")((1, 2)) == 3
    stub = authoring.load_exercise(course.learner, "row_sum")
    with pytest.raises(NotImplementedError, match="TODO row_sum"):
        stub((1, 2))


def test_a_loaded_function_s_source_can_be_inspected(course):
    course.edit("import math\n", "import functools, math\n")
    function = authoring.load_exercise(course.source, "row_sum")
    lines, first = inspect.getsourcelines(function)
    assert "".join(lines).startswith("def row_sum(row):\n    ### BEGIN SOLUTION\n")
    assert first == 13


def test_a_loaded_kernel_can_be_compiled_by_triton_from_its_source(course):
    triton = pytest.importorskip("triton")
    course.kernels.write_text("@triton.jit\ndef row_kernel(x):\n    tl.store(x, 1)\n")
    course.edit("import math\n", "import triton\nimport triton.language as tl\n")
    function = authoring.load_exercise(course.source, "row_sum")
    kernel = function.__globals__["row_kernel"]
    assert isinstance(kernel, triton.runtime.JITFunction)
    assert "tl.store(x, 1)" in kernel.src


def test_exercises_cells_are_listed_by_name(course):
    course.build()
    for path in (course.source, course.learner, course.solved):
        assert list(authoring.exercise_cells(path)) == ["row_sum"]
    assert "TODO" in authoring.exercise_cells(course.learner)["row_sum"]


def test_an_exercise_s_cell_without_id_and_metadata_is_found_by_its_function(course):
    course.edit("import math\n", "import functools, math\n")
    course.build()

    def forget(n: dict) -> None:
        for cell in n["cells"]:
            cell.update(id=f"new{n['cells'].index(cell)}", metadata={})
        own(n, 4)["source"] = "def row_sum(row): return 6"

    course.change(course.learner, forget)
    assert authoring.load_exercise(course.learner, "row_sum")([1]) == 6


def test_an_unknown_exercise_is_refused_with_the_nearest_name(course):
    with pytest.raises(authoring.CourseError, match="no cell for row_sums: did you mean row_sum"):
        authoring.load_exercise(course.source, "row_sums")


def test_a_learner_s_cell_that_renames_the_function_is_told_so(course):
    course.edit("import math\n", "import functools, math\n")
    course.build()
    course.change(course.learner, lambda n: own(n, 3).update(source="def my_sum(row): return 0"))
    with pytest.raises(authoring.CourseError, match="defines no function row_sum"):
        authoring.load_exercise(course.learner, "row_sum")


# the command line


def test_check_on_the_command_line_exits_with_1_and_the_command_that_fixes(built, monkeypatch):
    monkeypatch.setattr(command_line.authoring, "check", lambda root: authoring.drift.check(root, DECLARED))
    runner = CliRunner()
    result = runner.invoke(command_line.app, ["check", "--root", str(built.root)])
    assert result.exit_code == 0, result.output
    built.learner.unlink()
    result = runner.invoke(command_line.app, ["check", "--root", str(built.root)])
    assert result.exit_code == 1
    assert result.stderr == "notebooks/00_tour.ipynb: is missing\n    fix: make build\n"


def test_build_on_the_command_line_says_what_it_wrote_and_what_is_stale(course):
    arguments = ["build", "00", "--no-execute", "--root", str(course.root)]
    result = CliRunner().invoke(command_line.app, arguments)
    assert result.exit_code == 0, result.output
    assert "notebooks/00_tour.ipynb, solutions/00_tour.ipynb" in result.output
    assert "stale, without outputs: flashlearn/lessons/lesson_00_tour/notebook.py:12" in result.output
    assert "nothing to write" in CliRunner().invoke(command_line.app, arguments).output


def test_a_broken_source_on_the_command_line_is_a_sentence_and_no_traceback(course):
    course.edit("### BEGIN", "# BEGIN")
    result = CliRunner().invoke(command_line.app, ["build", "--root", str(course.root)])
    assert result.exit_code == 1
    assert (
        result.stderr.startswith("flashlearn/lessons/lesson_00_tour/notebook.py:22: cannot read")
        and "Traceback" not in result.output
    )


@pytest.mark.parametrize("tag", ["recall", "prediction"])
def test_a_cell_with_an_open_tag_has_a_stub_for_the_learner_and_an_answer_in_the_solved_notebook(course, tag):
    region = '### BEGIN SOLUTION\n# STUB: answers = {1: ""}\nanswers = {1: "b"}\n### END SOLUTION\n'
    course.edit("# %%\nmath.pi\n", f'# %% tags=["{tag}"]\n{region}print(answers)\n')
    course.build()
    for path, text in ((course.learner, 'answers = {1: ""}'), (course.solved, 'answers = {1: "b"}')):
        assert notebook.read(path).cells[-2].source == f"{text}\nprint(answers)"
    course.edit(f'# %% tags=["{tag}"]', "# %%")
    with pytest.raises(SourceError, match="outside an exercise's cell"):
        course.build()
