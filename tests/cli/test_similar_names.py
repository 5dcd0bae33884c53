"""A name that is misspelt on the command line is answered with the most similar one."""

from __future__ import annotations

import pytest

from command_line import run

MISSPELT = {
    "command": (["distil"], "Did you mean 'distill'?"),
    "option": (["distill", "CSV", "--labell", "label"], "--label"),
    "label": (["distill", "CSV", "--label", "labl"], "Did you mean 'label'?"),
    "model": (["distill", "CSV", "--model", "gbb"], "'gbb' is unknown. Did you mean 'gb'?"),
    "criterion": (["distill", "CSV", "--criterion", "eror"], "Did you mean 'error'?"),
    "preset": (["distill", "CSV", "--preset", "papr"], "Did you mean 'paper'?"),
    "dialect": (["export", "CSV", "--to", "sql", "--dialect", "postgress"], "Did you mean 'postgres'?"),
    "unlike any": (["export", "CSV", "--to", "word"], "Expected one of 'text', 'markdown'"),
    "categorical": (["distill", "CSV", "--categorical", "membr"], "Did you mean 'member'?"),
    "drop": (["distill", "CSV", "--drop", "Weight"], "Did you mean 'weight'"),
    "keep": (["distill", "CSV", "--keep", "hight"], "Did you mean 'height'"),
    "scale": (["distill", "CSV", "--scale", "hight=3"], "Did you mean 'height'"),
    "special": (["distill", "CSV", "--special", "hight=-9"], "Did you mean 'height'"),
    "class weight": (["distill", "CSV", "--class-weight", "yess=3"], "Did you mean 'yes'?"),
    "favourable": (["scorecard", "CSV", "--favourable", "Yes"], "not a class of 'label'. Did you mean 'yes'?"),
    "file": (["distill", "FOLDER/tables.csv"], "Did you mean 'table.csv'?"),
}


@pytest.mark.parametrize("what", MISSPELT)
def test_the_similar_name_is_suggested(csv, tmp_path, what):
    words, suggestion = MISSPELT[what]
    (tmp_path / "table.csv").write_bytes(csv.read_bytes())
    given = [word.replace("FOLDER", str(tmp_path)) if word != "CSV" else csv for word in words]
    result = run(*given, *(["--out", tmp_path / "out"] if words[0] in ("distill", "scorecard") else []), columns=400)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert suggestion in " ".join(result.stderr.split())


def test_a_file_inside_a_file_does_not_exist(csv):
    result = run("distill", csv / "x.csv")
    assert result.exit_code == 2
    assert "There is no file" in result.stderr
