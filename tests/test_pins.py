"""The pins are written down once for pip and once for conda; the two, and what promises them, agree."""

from __future__ import annotations

import contextlib
import re
import tomllib
import zipfile
from importlib import metadata
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent


def pins(lines: list[str]) -> dict[str, str]:
    """Package → version, of lines such as `torch==2.13.0`; other lines are left out."""
    found = {}
    for line in lines:
        match = re.fullmatch(r"([\w.-]+)==([\w.+]+)\s*(#.*)?", line.strip())
        if match:
            found[canonicalize_name(match[1])] = match[2]
    return found


def requirement_lines() -> list[str]:
    return (ROOT / "requirements.txt").read_text().splitlines()


def pip_section() -> list[str]:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    return next(entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict))


def project() -> dict:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_every_requirement_is_an_exact_pin():
    wanted = [line for line in requirement_lines() if line.strip() and not line.startswith("#")]
    assert len(pins(wanted)) == len(wanted), "a line of requirements.txt is not of the form name==version"


def test_conda_users_get_the_same_pins():
    assert pins(pip_section()) == pins(requirement_lines())
    assert "-c constraints.txt" in pip_section()


def test_torch_and_triton_are_the_pair_that_belongs_together():
    found = pins(requirement_lines())
    assert (found["torch"], found["triton"], found["sympy"]) == ("2.13.0", "3.7.1", "1.14.0")
    assert "numpy" in found, "numpy is named explicitly: neither torch nor triton asks for it"


def test_constraints_fix_only_what_requirements_leave_open():
    constrained = pins((ROOT / "constraints.txt").read_text().splitlines())
    assert constrained and not constrained.keys() & pins(requirement_lines()).keys()


@pytest.mark.parametrize("extra", ["", "test"])
def test_the_pins_are_versions_that_the_package_says_it_works_with(extra: str):
    found = pins(requirement_lines())
    declared = project()["optional-dependencies"][extra] if extra else project()["dependencies"]
    for requirement in map(Requirement, declared):
        version = found.get(canonicalize_name(requirement.name))
        assert version, f"pyproject.toml asks for {requirement.name}, which requirements.txt does not pin"
        assert requirement.specifier.contains(version), f"{requirement} does not admit the pin {version}"


def test_the_packages_of_the_website_are_pinned_separately():
    found = pins((ROOT / "tools" / "site" / "requirements.txt").read_text().splitlines())
    for requirement in map(Requirement, project()["optional-dependencies"]["site"]):
        version = found.get(canonicalize_name(requirement.name))
        assert version and requirement.specifier.contains(version), f"{requirement} and the pin {version}"
    constrained = pins((ROOT / "constraints.txt").read_text().splitlines())
    assert not found.keys() & (constrained.keys() | pins(requirement_lines()).keys())


def test_pyproject_names_every_pinned_package():
    declared = project()["dependencies"] + project()["optional-dependencies"]["test"]
    assert {canonicalize_name(Requirement(line).name) for line in declared} == pins(
        requirement_lines()
    ).keys()


def test_the_set_up_installs_the_pins_and_asks_for_no_other_index():
    script = (ROOT / "tools" / "setup.sh").read_text()
    assert "-r requirements.txt -c constraints.txt" in script
    assert "--no-deps --no-build-isolation -e ." in script
    assert not re.search(r"(?<!extra)-index-url", script), "pip's own settings decide the index"


def test_the_package_carries_its_templates_and_settings(tmp_path: Path):
    buildapi = pytest.importorskip("flit_core.buildapi")
    with contextlib.chdir(ROOT):
        wheel = tmp_path / buildapi.build_wheel(str(tmp_path))
    packed = set(zipfile.ZipFile(wheel).namelist())
    files = [path for path in (ROOT / "flashlearn").rglob("*") if path.is_file() and path.suffix != ".pyc"]
    missing = {path.relative_to(ROOT).as_posix() for path in files} - packed
    assert not missing and any(name.endswith(".j2") for name in packed)


def test_python_311_to_314_in_the_set_up_as_in_the_package():
    assert project()["requires-python"] == ">=3.11"
    assert "(3, 11) <= sys.version_info[:2] <= (3, 14)" in (ROOT / "tools" / "setup.sh").read_text()


def test_debian_12s_python_is_new_enough_for_every_package():
    constrained = pins((ROOT / "constraints.txt").read_text().splitlines())
    for name, version in (pins(requirement_lines()) | constrained).items():
        try:
            found = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # brought along on other platforms only
        if found.version.split("+")[0] == version and (needs := found.metadata["Requires-Python"]):
            assert SpecifierSet(needs).contains("3.11.2"), f"{name} {version} needs Python {needs}"


def test_ci_installs_chromium_and_calls_make_test():
    commands = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line[:1] not in ("#", "")]
    assert commands[-1] == "exec make test"
    assert any("apt-get install" in line and "chromium" in line for line in commands)
