"""From an evaluation to the outcome of a human check, as a user does it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from medbench_vlmeval.cli import main
from medbench_vlmeval.data import load_medebench, prepare_medebench
from medbench_vlmeval.editing import EditStore, edited_image_line
from medbench_vlmeval.evaluation.medebench import evaluate_medebench
from medbench_vlmeval.evaluation.options import judge_settings
from medbench_vlmeval.human.key import SheetKey

from ..data.releases import picture, write_official
from ..evaluation.medq_reasoning_cases import judge_script, judged, predict, table, text
from ..judging.server import Answer, JudgeServer, Request
from .made import edit_run, filled, told, varied, write_rows

pytestmark = pytest.mark.usefixtures("lmu")


def medbench(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["human", *map(str, arguments)])


def by_stain(request: Request) -> Answer:
    number = int(request.text.split("Stain ")[1].split(" ")[0])
    return Answer.says(
        f"- Editing Accuracy: {number}/10\n- Contextual Preservation: {number + 1}/10\n"
        f"- Visual Quality: {number + 2}.5/10"
    )


def judged_edits(tmp_path: Path, n: int = 5) -> list[Path]:
    """Two models' edits of n samples, evaluated with a judge."""
    prepare_medebench(write_official(tmp_path / "release", range(1, n + 1)), progress=False)
    data, store = load_medebench(), EditStore.default()
    paths = []
    for model in ("OneEditor", "TwoEditor"):
        path = tmp_path / "run" / model / f"{model}_MedEBench_test.jsonl"
        path.parent.mkdir(parents=True)
        rows = [
            {
                "index": str(it.id),
                "prediction": edited_image_line(
                    store.add(picture(50 * len(paths) + it.id)), size_wh=(40, 30)
                ),
            }
            for it in data.samples
        ]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        paths.append(path)
    with JudgeServer(by_stain) as server:
        settings = judge_settings({"model": "judge", "api_base": server.base_url}, {})
        evaluate_medebench(paths, data, judge_settings=settings)
    return paths


def test_edits_go_from_evaluation_to_agreement(tmp_path: Path) -> None:
    out = tmp_path / "spot"
    made = medbench("export", *judged_edits(tmp_path), "--out", out, "--samples", 5)
    assert made.exit_code == 0, made.output
    assert "5 samples of MedEBench_test, 2 models, 10 items a rater" in made.output
    assert f"key, not for raters: {out / 'key.json'}" in made.output
    key = SheetKey.read(out / "key.json")
    for answer in key.answers:
        wanted = {"EA": answer.index, "CP": answer.index + 1, "VQ": answer.index + 2.5}
        assert answer.verdicts == wanted
    table_ = write_rows(tmp_path / "A.csv", filled(out, key), delimiter=";")
    done = medbench("import", table_, "--key", out / "key.json")
    assert done.exit_code == 0, done.output
    assert "rater A: 10 of 10 items rated, 0 cannot be judged" in done.output
    assert "EA, A and judge, n 10: kappa 1.000, Spearman 1.000" in done.output
    assert "not taken over" not in done.output
    first = told(out / "human_check.json")["with_judge"][0]["agreement"]
    assert (first["exact"]["value"], first["n_clusters"]) == (1.0, 5)


@pytest.mark.parametrize("kind", ["caption", "paired"])
def test_descriptions_go_from_evaluation_to_agreement(tmp_path: Path, kind: str) -> None:
    data = table(tmp_path, n=4, kind=kind)  # type: ignore[arg-type]
    points = {1: (0, 1, 2, 2), 2: (2, 2, 1, 0), 3: (1, 1, 1, 2), 4: (2, 0, 0, 0)}
    path = predict(tmp_path, {n: text(n) for n in points})
    with JudgeServer(judge_script(points)) as server:
        judged(path, data, server)
    out = tmp_path / "spot"
    made = medbench("export", path, "--out", out, "--semicolon")
    assert made.exit_code == 0, made.output
    key = SheetKey.read(out / "key.json")
    assert {it.index: tuple(it.verdicts.values()) for it in key.answers} == points
    sheet = out / "for_raters" / "rater_A" / "sheet.csv"
    assert sheet.read_text(encoding="utf-8-sig").startswith("sheet;rater;item;")
    done = medbench("import", sheet, "--key", out / "key.json", "--out", tmp_path / "elsewhere")
    assert done.exit_code == 0, done.output
    assert "not taken over: 4" in done.output
    assert "row 2: item 1: not rated; rate it, or write x under cannot_judge" in done.output
    assert (tmp_path / "elsewhere" / "human_check.md").is_file()


def test_errors_are_one_line_with_a_remedy(tmp_path: Path) -> None:
    run = edit_run(tmp_path, "M", varied(1))
    for arguments, message in (
        (["export", run.predictions, "--out", tmp_path / "runs"], "choose another --out"),
        (["export", run.predictions, "--out", tmp_path / "x", "--rater", "a b"], "initials"),
        (["import", run.predictions, "--key", run.predictions], "cannot be read"),
    ):
        result = medbench(*arguments)
        assert result.exit_code == 1
        assert message in result.output
        assert "Traceback" not in result.output
        assert len(result.output.splitlines()) == 1
