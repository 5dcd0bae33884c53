"""Documentation of several versions beside each other, with a list to choose from."""

import json
import subprocess
import sys

import pytest
import versions


def build(source, target, version):
    """A page with the theme, and nothing else of the documentation."""
    source.mkdir(exist_ok=True)
    (source / "index.rst").write_text("Title\n=====\n")
    options = versions.theme_options(version)
    (source / "conf.py").write_text(f"html_theme = 'pydata_sphinx_theme'\nhtml_theme_options = {options!r}\n")
    subprocess.run([sys.executable, "-m", "sphinx", "-W", "-q", "-b", "html", source, target], check=True)
    return (target / "index.html").read_text(encoding="utf-8")


def test_pages_of_a_version_have_the_list_and_others_fetch_nothing(tmp_path):
    pytest.importorskip("pydata_sphinx_theme")
    page = build(tmp_path / "source", tmp_path / "html" / "0.1.0", "0.1.0")
    assert "theme_switcher_json_url = '../switcher.json'" in page
    assert "theme_switcher_version_match = '0.1.0'" in page
    assert "version-switcher__container" in page
    page = build(tmp_path / "source", tmp_path / "html", None)
    assert "switcher_json_url" not in page
    assert "version-switcher__container" not in page


@pytest.mark.parametrize("version", ["../other", "v0.1.0", "0.1.0/x", "newest"])
def test_what_is_no_version_is_refused(version):
    with pytest.raises(ValueError, match=r"it must be 'dev' or a version such as '0\.1\.0'"):
        versions.theme_options(version)


def test_the_list_has_what_was_built_newest_first(tmp_path):
    for name in ["0.9.0", "0.10.0", "dev", "_static", "0.10.0rc1"]:
        (tmp_path / name).mkdir()
        (tmp_path / name / ("style.css" if name == "_static" else "index.html")).touch()
    (tmp_path / "index.html").touch()
    versions.write_list(tmp_path, "/fcca")
    entries = json.loads((tmp_path / "switcher.json").read_text())
    assert [entry["version"] for entry in entries] == ["dev", "0.10.0", "0.10.0rc1", "0.9.0"]
    assert [entry["url"] for entry in entries] == [f"/fcca/{entry['version']}/" for entry in entries]
    assert [entry["version"] for entry in entries if entry.get("preferred")] == ["0.10.0"]


def test_a_build_without_a_release_has_no_preferred_version(tmp_path):
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "index.html").touch()
    versions.write_list(tmp_path)
    assert json.loads((tmp_path / "switcher.json").read_text()) == [{"version": "dev", "url": "/dev/"}]
