"""What the workflow files promise, held to what the project says elsewhere."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

from real_data import absent

ROOT = Path(__file__).parents[2]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def workflow(name: str) -> dict:
    path = ROOT / ".github" / "workflows" / name
    if not path.exists():
        absent("the sdist comes without .github")
    document = yaml.safe_load(path.read_text(encoding="utf-8"))
    document["on"] = document.pop(True)  # YAML 1.1 takes the word for a truth value
    return document


NAMES = ["release.yml", "test.yml"]


def steps_of(document: dict) -> list[dict]:
    return [step for job in document["jobs"].values() for step in job["steps"]]


def test_these_are_all_workflows():
    workflow("test.yml")
    assert sorted(path.name for path in (ROOT / ".github" / "workflows").iterdir()) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_jobs_read_the_sources_and_no_more_and_end_by_themselves(name):
    document = workflow(name)
    assert document["permissions"] == {"contents": "read"}
    for job in document["jobs"].values():
        assert job["timeout-minutes"] <= 120
    for step in steps_of(document):
        assert ("uses" in step) != ("run" in step)
        if "actions/checkout" in step.get("uses", ""):
            assert step["with"]["persist-credentials"] is False
        assert "${{" not in step.get("run", ""), "what others write goes into commands through the environment only"
    assert "secrets." not in str(document)


@pytest.mark.parametrize("name", NAMES)
def test_what_jobs_run_is_there(name):
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    for step in steps_of(workflow(name)):
        for line in step.get("run", "").splitlines():
            if line.startswith("make "):
                assert set(line.split()[1:]) <= targets, line
            if line.startswith(".ci/"):
                assert (ROOT / line.split()[0]).exists(), line


def test_every_push_runs_what_ci_runs():
    document = workflow("test.yml")
    assert document["on"]["push"] == {"branches": ["**"]}
    assert {"run": ".ci/run"} in steps_of(document)
    assert {"run": "make audit"} in steps_of(document)
    assert {"run": "make coverage"} in steps_of(document)


def test_only_a_tag_publishes_and_only_what_was_built_and_tried():
    jobs = workflow("release.yml")["jobs"]
    publish = jobs.pop("publish")
    assert publish["if"] == "github.event_name == 'push' && startsWith(github.ref, 'refs/tags/v')"
    assert set(publish["needs"]) == set(jobs)
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"]["name"] == "pypi"
    for job in jobs.values():
        assert "permissions" not in job
        assert not any("publish" in step.get("uses", "") for step in job["steps"])


def test_wheels_are_built_and_tried_for_every_python_that_is_promised():
    settings = PYPROJECT["tool"]["cibuildwheel"]
    found = (
        re.fullmatch(r"Programming Language :: Python :: (3\.\d+)", line) for line in PYPROJECT["project"]["classifiers"]
    )
    promised = [match[1] for match in found if match]
    assert settings["build"].split() == [f"cp{version.replace('.', '')}-*" for version in promised]
    assert PYPROJECT["project"]["requires-python"] == f">={promised[0]}"
    assert settings["test-command"] == "python {project}/tests/release/smoke.py"
    assert "test-skip" not in settings
    systems = {entry["name"] for entry in workflow("release.yml")["jobs"]["wheels"]["strategy"]["matrix"]["include"]}
    assert systems == {"linux-x86_64", "linux-aarch64", "macos-x86_64", "macos-arm64", "windows-amd64"}
