"""The container file and the page about hubs name what there is; neither can be built here."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest
import typer

from flashlearn.cli import app

ROOT = Path(__file__).parent.parent
PAGE = (ROOT / "docs" / "jupyterhub.md").read_text()


def instructions() -> list[tuple[str, str]]:
    """("RUN", "sh tools/setup.sh") and the others, in order."""
    text = (ROOT / "Containerfile").read_text()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in joined.splitlines() if line.strip()]


def of(kind: str) -> list[str]:
    return [rest for name, rest in instructions() if name == kind]


def copied() -> list[str]:
    return [source for rest in of("COPY") for source in rest.split()[:-1]]


def test_what_is_copied_is_there_and_is_all_that_the_build_sees():
    assert all((ROOT / name).exists() for name in copied())
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert "*" in lines and {line[1:] for line in lines if line.startswith("!")} == set(copied())


def test_what_is_run_is_copied_before():
    runs = " ".join(of("RUN"))
    for name in ("tools/setup.sh", "requirements.txt", "constraints.txt"):
        assert name in runs and (name in copied() or name.split("/")[0] in copied())
    order = [name for name, _ in instructions()]
    assert (
        order[0] == "FROM"
        and order[-1] == "CMD"
        and order.index("COPY") < len(order) - order[::-1].index("RUN")
    )
    for path in re.findall(r"[\w/.-]+", (ROOT / "tools" / "setup.sh").read_text()):
        if re.fullmatch(r"(tools/\w+\.py|\w+\.txt)", path):
            assert path in copied() or path.split("/")[0] in copied(), path


def test_the_server_runs_as_nobody_in_particular_with_the_courses_own_python():
    assert of("USER") == ["jovyan"] and "useradd --create-home --uid 1000 jovyan" in of("RUN")
    (environment,) = of("ENV")
    set_to = dict(one.split("=", 1) for one in shlex.split(environment))
    assert set_to["PATH"].startswith("/opt/flashlearn/.venv/bin:") and of("WORKDIR")[0] == "/opt/flashlearn"
    assert (ROOT / Path(set_to["JUPYTER_CONFIG_PATH"]).relative_to("/opt/flashlearn")).is_dir()
    assert set_to["FLASHLEARN_HOME"].startswith(set_to["HOME"]) and of("WORKDIR")[-1] == set_to["HOME"]


def test_arguments_that_the_page_names_are_the_containers():
    known = {rest.partition("=")[0] for rest in of("ARG")}
    assert set(re.findall(r"--build-arg (\w+)=", PAGE)) == known == {"JUPYTERHUB", "TORCH_INDEX"}
    assert "TORCH_INDEX" in (ROOT / "tools" / "setup.sh").read_text()


def commands() -> list[list[str]]:
    """Every `flashlearn …` of the page, in words."""
    found = re.findall(r"(?:^|`)(?:podman run --rm flashlearn-hub )?(flashlearn [a-z][^\n`]*)", PAGE, re.M)
    return [shlex.split(one)[1:] for one in found]


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_a_command_of_the_page_exists_and_takes_its_options(words: list[str]):
    command = typer.main.get_command(app)
    while words and hasattr(command, "commands"):
        command = command.commands[words[0]]
        words = words[1:]
    options = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_the_loop_collects_ordinary_files_and_follows_no_link(tmp_path: Path):
    (loop,) = re.findall(r"```sh\n(.*?)```", PAGE, re.S)
    homes = tmp_path / "homes"
    for name in ("ann", "bo", "cem lee"):
        (homes / name).mkdir(parents=True)
    for name in ("ann", "cem lee"):
        (homes / name / "week2").mkdir()
        (homes / name / "week2" / "02_softmax.ipynb").write_text(name)
    (homes / "bo" / "week2").symlink_to(homes / "ann" / "week2")
    (homes / "ann" / "week2" / "theirs.ipynb").symlink_to(homes / "cem lee" / "week2" / "02_softmax.ipynb")
    os.mkfifo(homes / "ann" / "week2" / "pipe.ipynb")
    subprocess.run(["sh", "-c", loop], cwd=tmp_path, env={**os.environ, "HOMES": str(homes)}, check=False)
    found = {
        p.relative_to(tmp_path / "submissions").as_posix()
        for p in (tmp_path / "submissions").rglob("*.ipynb")
    }
    assert found == {"ann/02_softmax.ipynb", "cem lee/02_softmax.ipynb"}


def test_the_container_of_an_editor_is_this_image_with_the_clone_s_package():
    told = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text())
    build = told["build"]
    assert (ROOT / ".devcontainer" / build["dockerfile"]).resolve() == ROOT / "Containerfile"
    assert (ROOT / ".devcontainer" / build["context"]).resolve() == ROOT
    assert set(build["args"]) <= {rest.partition("=")[0] for rest in of("ARG")}
    assert [told["remoteUser"]] == of("USER")
    assert told["containerEnv"]["PYTHONPATH"] == "${containerWorkspaceFolder}"
    words = shlex.split(told["postCreateCommand"])
    assert words[0] == "flashlearn" and words[1] in typer.main.get_command(app).commands


@pytest.mark.parametrize("builder", ["podman", "docker", "buildah"])
def test_one_command_builds_the_image_with_the_first_builder_that_works(builder: str, tmp_path: Path):
    for name, code in {"podman": 1, "docker": 1, "buildah": 1, builder: 0}.items():
        program = tmp_path / name
        program.write_text(f'#!/bin/sh\n[ "$1" = info ] && exit {code}\necho {name} "$@"\n')
        program.chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}/usr/bin:/bin"}
    command = [ROOT / "tools" / "container.sh", "--build-arg", "TORCH_INDEX=none"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True)
    built = f"{builder} build -f Containerfile -t flashlearn-hub --build-arg TORCH_INDEX=none ."
    assert ran.stdout.strip() == built, ran.stderr


def test_where_no_builder_works_one_sentence_says_what_to_install(tmp_path: Path):
    for name in ("podman", "docker", "buildah"):
        (tmp_path / name).write_text("#!/bin/sh\nexit 1\n")
        (tmp_path / name).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}/usr/bin:/bin"}
    ran = subprocess.run([ROOT / "tools" / "container.sh"], env=environment, capture_output=True, text=True)
    assert ran.returncode == 1 and ran.stderr.startswith("No builder of images works here")
