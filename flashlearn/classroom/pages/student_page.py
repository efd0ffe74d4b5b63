"""The page that a handout has for students, in Markdown."""

from __future__ import annotations

from flashlearn.classroom.handout import Handout
from flashlearn.classroom.pages.formatting import count, in_markdown
from flashlearn.classroom.records import AssignedExercise

RULES = {
    "all": "when all of its cases pass",
    "share": "by the share of its cases that pass",
}


def render(handout: Handout) -> str:
    """The exercises, their points, and how to hand in."""
    assignment = handout.assignment
    total = sum(one.points for one in assignment.exercises)
    rules = {one.rule for one in assignment.exercises}
    mixed = len(rules) > 1
    rule = "by the rule in the table" if mixed else RULES[assignment.exercises[0].rule]
    lines = [
        f"# {in_markdown(assignment.name)}",
        "",
        f"{count(len(assignment.exercises), 'exercise')} in {count(len(handout.notebooks), 'notebook')}, "
        f"{count(total, 'point')} in all. An exercise gets its points {rule}.",
        "",
        "| exercise | what it is about | notebook | points |" + (" points are given |" if mixed else ""),
        "|---|---|---|---:|" + ("---|" if mixed else ""),
        *(_row(handout, one, mixed) for one in assignment.exercises),
        "",
        "## How to work on it",
        "",
        "1. Open a notebook in JupyterLab and run its cells from the top.",
        "2. Write each answer into the exercise's own cell, instead of the line with `TODO`. Keep the "
        "function's name and its arguments.",
        "3. Run the cell below it, `flashlearn.check(…)`, as often as you like. It says what is right and "
        "what is not right yet.",
        "4. Put helper functions of your own into separate cells, anywhere before the answer that needs "
        "them.",
        "",
        "## How to hand it in",
        "",
        f"Save, and hand in {_files(handout)}. Do not rename the files. `flashlearn check NOTEBOOK` runs a "
        "saved notebook from the top, as grading does: do that first.",
        "",
        "Grading runs your functions again on other inputs: an answer that is right only for the "
        "numbers of your check does not count. It runs the lesson's cells that your answers need and all "
        "that you wrote, without network access and without your other files. The output of checks in your "
        "notebook does not count.",
        "",
    ]
    return "\n".join(lines)


def _row(handout: Handout, one: AssignedExercise, mixed: bool) -> str:
    file = next(n.file for n in handout.notebooks if n.lesson == one.lesson)
    title = in_markdown(handout.titles.get(one.name, ""))
    rule = f" {RULES[one.rule]} |" if mixed else ""
    return f"| `{one.name}` | {title} | [{file}]({file}) | {one.points} |{rule}"


def _files(handout: Handout) -> str:
    files = [f"`{notebook.file}`" for notebook in handout.notebooks]
    return files[0] if len(files) == 1 else f"{', '.join(files[:-1])} and {files[-1]}"
