"""`flashlearn check --json` is what docs/check.schema.json says."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import torch

from flashlearn.cli.check import Result, to_dict
from flashlearn.cli.headless import CheckVerdict, read_verdicts
from flashlearn.course.answers import solution
from flashlearn.course.check import check
from flashlearn.lessons import find

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "check.schema.json").read_text())


def stub(x: torch.Tensor) -> torch.Tensor:
    raise NotImplementedError("TODO row_sum: sum each row")


def crash(x: torch.Tensor) -> torch.Tensor:
    return x[0] / None


def test_what_checks_write_is_what_the_schema_says(tmp_path: Path, monkeypatch):
    monkeypatch.setenv("FLASHLEARN_VERDICTS", str(tmp_path / "verdicts.jsonl"))
    results = []
    for answer in (solution(find("row_sum")), stub, crash):
        check("row_sum", answer)
        (verdict,) = read_verdicts(tmp_path / "verdicts.jsonl").values()
        results.append(Result(Path("work/00_tour.ipynb"), [verdict], []))
    results.append(Result(Path("x.ipynb"), [], ["It cannot be read."], readable=False))
    results.append(Result(Path("y.ipynb"), [CheckVerdict("row_sum", "NOT_CHECKED", False, "No check.")], []))
    printed = json.loads(json.dumps(to_dict(results)))
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    jsonschema.validate(printed, SCHEMA)
    passed, started, crashed = (one["exercises"][0] for one in printed["notebooks"][:3])
    assert passed["cases_passed"] == passed["cases"] > 5 and passed["next_step"]
    assert started["status"] == "TODO"
    assert crashed["line"] == "return x[0] / None"


def test_a_verdict_file_of_an_older_version_is_still_read(tmp_path: Path):
    path = tmp_path / "verdicts.jsonl"
    path.write_text('{"exercise": "row_sum", "status": "PASS", "passed": true}\n')
    (verdict,) = read_verdicts(path).values()
    assert verdict.passed and verdict.cases == 0
    jsonschema.validate(to_dict([Result(path, [verdict], [])]), SCHEMA)
