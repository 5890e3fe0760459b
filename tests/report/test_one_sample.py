from __future__ import annotations

import json
import unicodedata
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from medbench_vlmeval.cli import main
from medbench_vlmeval.data import MedEBenchData, load_medebench, prepare_medebench
from medbench_vlmeval.editing import EditStore, edited_image_line
from medbench_vlmeval.evaluation.medebench import evaluate_medebench
from medbench_vlmeval.evaluation.medq_perception import evaluate_medq_perception
from medbench_vlmeval.evaluation.shown_samples import AskedPrompts
from medbench_vlmeval.report.one_sample import OneSample, one_sample
from medbench_vlmeval.report.runs import Run

from ..data.releases import picture, write_official
from ..evaluation.medq_questions import benchmark as medq_benchmark
from ..evaluation.medq_questions import question
from ..evaluation.medq_reasoning_cases import judge_script, judged, predict, table, text
from ..judging.server import Answer, JudgeServer
from .test_verify import boxes, choices, write

HOSTILE = (
    "fine\x1b[2J\x07 \u202egnp.exe\u2066 \x9b31m\r\nscores\n  IoU  1.0, answer\ttab \ud800 end  "
)
NO_GLYPH = {"Cc", "Cf", "Cs", "Zl", "Zp"}


pytestmark = pytest.mark.usefixtures("lmu")


def medbench(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def section(found: OneSample, title: str) -> list[str]:
    lines = found.lines()
    after = lines[lines.index(title) + 1 :]
    return after[: after.index("")] if "" in after else after


def asked_choices(folder: Path, reply: str | None, prompt: str = "What is it?") -> Run:
    (folder / "1.png").write_bytes(picture(1))
    data = medq_benchmark(folder, question(1, key="r-17", images=(folder / "1.png",)))
    path = write(folder / "M_MedQ_MCQ_test.jsonl", {1: reply})
    parts = [("image", str(folder / "1.png")), ("text", prompt)]
    evaluate_medq_perception(path, data, asked=AskedPrompts({1: parts}.get, "may be reworded"))
    return Run.at(path)


def test_a_question_is_told_from_top_to_bottom(tmp_path: Path) -> None:
    found = one_sample(asked_choices(tmp_path, "The answer is B."), "r-17")
    lines = found.lines()
    titles = ["sample", "images", "prompt", "reply", "read from the reply", "scores", "files"]
    places = [lines.index(title) for title in titles]
    assert places == sorted(places)
    assert lines[0] == "M_MedQ_MCQ_test: sample 1 (key r-17)"
    assert "  kind: choice" in section(found, "sample")
    assert "    B: Noise" in section(found, "sample")
    assert section(found, "images") == [
        f"  [0] image: {tmp_path / '1.png'}, size unknown, sha256 000000000000, there"
    ]
    assert section(found, "prompt") == [
        "  (may be reworded)",
        "  [0] image: 1.png",
        "  | What is it?",
    ]
    assert section(found, "reply") == ["  | The answer is B."]
    assert "  official_letter: B" in section(found, "read from the reply")
    assert "  strict_letter: B" in section(found, "read from the reply")
    assert section(found, "scores") == [
        "  accuracy         1.0, answer",
        "  accuracy_strict  1.0, answer",
    ]
    assert section(found, "judge's replies") == ["  (none)"]
    assert f"  predictions: {tmp_path / 'M_MedQ_MCQ_test.jsonl'}" in section(found, "files")


def test_every_field_of_the_scores_is_told_somewhere(tmp_path: Path) -> None:
    found = one_sample(boxes(tmp_path), "1")
    told = "\n".join(found.lines())
    for name in found.row:
        if name not in ("index", "key", "groups", "scores"):
            assert f"  {name}:" in told, name


def test_a_failed_score_says_whose_fault_it_is_and_why(tmp_path: Path) -> None:
    run = choices(tmp_path, {1: "B", 2: "A"})
    assert section(one_sample(run, "3"), "scores") == [
        "  accuracy         none, missing, the model's fault, not in the prediction file",
        "  accuracy_strict  none, missing, the model's fault",
    ]
    assert section(one_sample(run, "3"), "reply") == ["  (the prediction file has none)"]
    assert "none, data_error, the release gives" in section(one_sample(run, "4"), "scores")[0]


def test_texts_of_others_cannot_act_on_a_terminal_or_pass_for_ours(tmp_path: Path) -> None:
    found = one_sample(asked_choices(tmp_path, HOSTILE, prompt=HOSTILE), "1")
    for line in found.lines():
        assert not [char for char in line if unicodedata.category(char) in NO_GLYPH]
    expected = [
        "  | fine<U+001B>[2J<U+0007> <U+202E>gnp.exe<U+2066> <U+009B>31m<U+000D>",
        "  | scores",
        "  |   IoU  1.0, answer<U+0009>tab <U+D800> end  ",
    ]
    assert section(found, "reply") == expected
    assert section(found, "prompt")[2:] == expected
    assert found.lines().count("scores") == 1
    assert found.facts()["shown"]["reply"] == HOSTILE


def test_a_long_reply_is_kept_whole(tmp_path: Path) -> None:
    reply = "word " * 20_000 + "\n\n" + "B"
    told = section(one_sample(asked_choices(tmp_path, reply), "1"), "reply")
    assert told == [f"  | {'word ' * 20_000}", "  |", "  | B"]


def test_every_attempt_of_the_judge_is_told_with_what_it_was_asked(tmp_path: Path) -> None:
    data = table(tmp_path, 2)
    path = predict(tmp_path, {1: text(1), 2: text(2)})
    script = judge_script({2: (Answer.says("no number \x1b[31m"), 1, 1, 0)})
    with JudgeServer(script) as server:
        judged(path, data, server)
    run = Run.at(path)
    found = one_sample(run, "2")
    told = section(found, "judge's replies")
    keys = [reply["key"] for reply in found.judge]
    assert {key.partition("/")[0] for key in keys} == {"2"}
    assert len(keys) > len(set(keys)) == 4, "one dimension was asked again"
    assert len([line for line in told if line == "    replied:"]) == len(keys)
    assert "    | no number <U+001B>[31m" in told
    assert any("Row 2 of noise" in line for line in told)
    assert any(line == "  completeness:" for line in section(found, "judge's verdict"))
    quiet = one_sample(run, "2", with_judge=False)
    assert (quiet.judge, "judge's replies" in quiet.lines()) == (None, False)


def prepared(folder: Path) -> MedEBenchData:
    source = write_official(folder / "release", range(1, 3), images={2: {"roi": None}})
    prepare_medebench(source, progress=False)
    return load_medebench()


def test_an_edit_names_its_image_and_what_the_data_set_lacks(tmp_path: Path) -> None:
    data, store = prepared(tmp_path), EditStore.default()
    made = store.add(picture(7))
    path = tmp_path / "run" / "M_MedEBench_test.jsonl"
    write(path, {1: edited_image_line(made, size_wh=(40, 30)), 2: "No."})
    evaluate_medebench([path], data)
    first, second = (one_sample(Run.at(path), name) for name in ("1", "2"))
    edited = path.with_name("M_MedEBench_test_images") / f"{made.sha256}.png"
    assert edited.is_file()
    assert f"  edited image: {edited}" in section(first, "files")
    assert "  instruction: Remove stain 1." in section(first, "sample")
    assert section(first, "images")[0].endswith(", there")
    assert ", 40 x 30, sha256 " in section(first, "images")[0]
    assert section(second, "images")[2] == "  [2] roi: the data set has none"
    assert "not known" in section(second, "prompt")[0]
    edited.unlink()
    assert f"  edited image: {edited} (NOT there)" in section(first, "files")


def test_the_name_of_an_edited_image_leads_into_no_other_folder(tmp_path: Path) -> None:
    run = Run.at(choices(tmp_path, {1: "A"}).manifest_path)
    row = {**run.rows[0], "edited": {"file": "../../secret.png"}}
    files = OneSample(run, row, None, "", None).files()
    assert files["edited image"] == run.beside("_images") / "secret.png"


def test_a_run_of_an_earlier_version_shows_what_it_has(tmp_path: Path) -> None:
    run = choices(tmp_path, {1: "B"})
    run.beside("_samples.jsonl").unlink()
    found = one_sample(run, "1")
    assert "evaluate again to see images and prompts" in section(found, "shown")[0]
    assert "  modality: CT" in section(found, "sample")
    assert "  strict_letter: B" in section(found, "read from the reply")
    assert found.facts()["shown"] is None


@pytest.mark.parametrize(
    ("wanted", "remedy"),
    [
        ("100", "the nearest are 4, 3, 2, 1"),
        ("referring", "the first are 1, 2, 3, 4"),
        ("", "the first are 1, 2, 3, 4"),
        ("\x1b[31m", "the first are 1, 2, 3, 4"),
    ],
)
def test_an_unknown_sample_is_an_error_with_names_that_there_are(
    tmp_path: Path, wanted: str, remedy: str
) -> None:
    run = choices(tmp_path, {1: "A"})
    with pytest.raises(ValueError, match=remedy) as caught:
        one_sample(run, wanted)
    assert "4 samples of M_MedQ_MCQ_test" in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_key_is_guessed_from_its_beginning_and_must_name_one_sample(tmp_path: Path) -> None:
    data = medq_benchmark(tmp_path, question(1, key="a-1"), question(2, key="a-1"))
    path = write(tmp_path / "M_MedQ_MCQ_test.jsonl", {1: "A"})
    evaluate_medq_perception(path, data)
    with pytest.raises(ValueError, match="the nearest are a-1"):
        one_sample(Run.at(path), "a")
    with pytest.raises(ValueError, match="the key of 2; give an index: 1, 2"):
        one_sample(Run.at(path), "a-1")


def test_an_index_comes_before_a_key(tmp_path: Path) -> None:
    data = medq_benchmark(tmp_path, question(1, key="2"), question(2, key="1"))
    path = write(tmp_path / "M_MedQ_MCQ_test.jsonl", {1: "A"})
    evaluate_medq_perception(path, data)
    assert one_sample(Run.at(path), "1").row["index"] == 1


def test_the_command_prints_a_sample_as_text_and_as_json(tmp_path: Path) -> None:
    run = asked_choices(tmp_path, HOSTILE.replace("\ud800", ""))
    plain = medbench("show", run.manifest_path, "r-17")
    assert plain.exit_code == 0, plain.output
    assert "\x1b" not in plain.output
    assert plain.output.splitlines() == one_sample(run, "1").lines()
    machine = medbench("show", run.manifest_path.parent, 1, "--json", "--no-judge")
    assert machine.output.isascii()
    facts = json.loads(machine.output)
    assert facts["shown"]["reply"] == HOSTILE.replace("\ud800", "")
    assert facts["scores"]["official_letter"] == run.rows[0]["official_letter"]
    assert facts["judge"] is None


def test_the_command_finds_images_below_another_data_root(tmp_path: Path, lmu: Path) -> None:
    path = write(tmp_path / "run" / "M_MedEBench_test.jsonl", {1: "No."})
    evaluate_medebench([path], prepared(tmp_path))
    moved = lmu.rename(tmp_path / "moved")
    assert "previous/1.png, 40 x 30" in medbench("show", path, 1).output
    assert "NOT there" in medbench("show", path, 1).output
    found = medbench("show", path, 1, "--data-root", moved).output
    assert f"{moved / 'medbench/MedEBench_test/previous/1.png'}, 40 x 30" in found
    assert "NOT there" not in found


def test_an_unknown_sample_of_the_command_is_one_line(tmp_path: Path) -> None:
    result = medbench("show", choices(tmp_path, {1: "A"}).manifest_path, "nobody")
    assert (result.exit_code, "the first are 1, 2" in result.output) == (1, True)
    assert "Traceback" not in result.output
