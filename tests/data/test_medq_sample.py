from __future__ import annotations

import io
import re
from collections import Counter

import numpy as np
import pytest
from PIL import Image
from skimage.metrics import peak_signal_noise_ratio

from medbench_vlmeval.data import load_medq, medq_sample, medq_scenes
from medbench_vlmeval.data.medq_rows import MedQRow
from medbench_vlmeval.data.medq_sample import medq_sample_release, prepare_medq_sample
from medbench_vlmeval.data.medq_scenes import GRADES, clean_picture
from medbench_vlmeval.data.medq_tables import MEDQ_TABLES, QUESTION_TYPES
from medbench_vlmeval.data.verify import verify_data

PACKS = [table.name for table in MEDQ_TABLES if table.is_sample]
CHOICES = ["MedQ_MCQ_sample", "MedQDEG_sample"]
MODALITIES = {"CT", "MRI", "Fundus", "Histopathology"}
QUALITY = re.compile(r"Overall, the quality of this image is (good|usable|reject)\.$")
PREFERENCE = re.compile(r"Overall, the (first|second) image is of higher quality\.$")

NAMED_AS = {
    "air bubble": "air bubble",
    "aliasing": "folded over itself",
    "bias field": "bias field",
    "colour cast": "colour cast",
    "defocus": "out of focus",
    "low-dose noise": "noise",
    "metal streaks": "streaks",
    "motion blur": "motion blur",
    "motion ghosting": "ghosting from motion",
    "out of focus": "out of focus",
    "ring artefacts": "rings",
    "tissue fold": "fold of the tissue",
    "uneven illumination": "illumination is severely uneven",
}
"""Words of a reference text for each degradation that the reasoning packs show."""


@pytest.fixture(scope="module")
def packs() -> dict[str, list[MedQRow]]:
    return {name: list(medq_sample_release(name).rows) for name in PACKS}


def pixels_of(row: MedQRow) -> list[np.ndarray]:
    shown = []
    for image in row.images:
        with Image.open(io.BytesIO(image.read())) as opened:
            assert opened.format == "PNG"
            shown.append(np.asarray(opened))
    return shown


def column(rows: list[MedQRow], name: str) -> list[str]:
    return [row.fields[name] for row in rows]


def test_packs_have_their_stated_sizes(packs):
    assert {name: len(rows) for name, rows in packs.items()} == {
        "MedQ_MCQ_sample": 24,
        "MedQ_Caption_sample": 9,
        "MedQ_Paired_sample": 8,
        "MedQDEG_sample": 18,
    }


@pytest.mark.parametrize("name", PACKS)
def test_rows_are_counted_and_their_cells_are_text(packs, name):
    release, rows = medq_sample_release(name), packs[name]
    assert (release.count, release.layout, release.warnings) == (len(rows), "generated", ())
    assert [row.number for row in rows] == list(range(len(rows)))
    assert column(rows, "index") == [str(number) for number in range(1, len(rows) + 1)]
    for row in rows:
        assert all(value and isinstance(value, str) for value in row.fields.values())
        assert row.problems == ()
    assert set(column(rows, "modality")) == MODALITIES


@pytest.mark.parametrize("name", PACKS)
def test_every_row_has_its_images_of_moderate_size(packs, name):
    for row in packs[name]:
        images = pixels_of(row)
        assert len(images) == (2 if name == "MedQ_Paired_sample" else 1)
        for pixels in images:
            assert pixels.dtype == np.uint8
            assert min(pixels.shape[:2]) >= 160
            assert max(pixels.shape[:2]) <= 320
            assert pixels.std() > 8


@pytest.mark.parametrize("name", PACKS)
def test_the_same_bytes_come_out_again(packs, name):
    medq_scenes.clean_picture.cache_clear()
    again = list(medq_sample_release(name).rows)
    assert again == packs[name]
    assert medq_sample_release(name).revision == medq_sample_release(name).revision


@pytest.mark.parametrize("name", CHOICES)
def test_answers_are_among_the_options_and_options_differ(packs, name):
    for row in packs[name]:
        options = {letter: row.fields[letter] for letter in "ABCDE" if letter in row.fields}
        assert row.fields["answer"] in options
        assert list(options) == list("ABCDE"[: len(options)])
        assert len(set(options.values())) == len(options) >= 2


def test_questions_are_balanced_over_types_modalities_levels_and_letters(packs):
    rows = packs["MedQ_MCQ_sample"]
    pairs = Counter(zip(column(rows, "modality"), column(rows, "question_type"), strict=True))
    assert pairs == {(modality, kind): 2 for modality in MODALITIES for kind in QUESTION_TYPES}
    levels = Counter(column(rows, "degradation_level"))
    assert set(levels) == {"none", "mild", "severe"}
    assert min(levels.values()) >= 7
    letters = {
        kind: Counter(row.fields["answer"] for row in rows if row.fields["question_type"] == kind)
        for kind in QUESTION_TYPES
    }
    assert letters["Yes-or-No"] == {"A": 4, "B": 4}
    assert letters["What"] == {"A": 2, "B": 2, "C": 2, "D": 2}
    assert letters["How"] == {"A": 3, "B": 3, "C": 2}
    assert set(column(rows, "scope")) == {"general", "modality-specific"}


def test_answers_follow_from_what_was_done_to_the_image(packs):
    for row in packs["MedQ_MCQ_sample"]:
        cells = row.fields
        answer = cells[cells["answer"]]
        if cells["question_type"] == "How":
            assert answer.lower() == GRADES[cells["degradation_level"]]
        elif cells["question_type"] == "What":
            assert answer.lower() == cells["degradation_type"].lower()
        else:
            assert (cells["A"], cells["B"]) == ("Yes", "No")
            named = {
                "Is there visible noise in this image?": "low-dose noise",
                "Are ring artefacts visible in this image?": "ring artefacts",
                "Does this image show ghosts of edges that moved during the scan?": (
                    "motion ghosting"
                ),
                "Is there visible motion blur in this image?": "motion blur",
                "Is this image out of focus?": "defocus",
                "Does the tissue lie folded over itself in this image?": "tissue fold",
                "Is there an air bubble in this image?": "air bubble",
            }[cells["question"]]
            assert answer == ("Yes" if named == cells["degradation_type"] else "No")


def test_none_is_the_right_answer_once(packs):
    right = [row.fields[row.fields["answer"]] for row in packs["MedQ_MCQ_sample"]]
    assert right.count("None") == 1


def test_descriptions_close_with_the_quality_that_goes_with_the_level(packs):
    rows = packs["MedQ_Caption_sample"]
    for row in rows:
        found = QUALITY.search(row.fields["description"])
        assert found is not None
        assert found[1] == GRADES[row.fields["degradation_level"]]
        assert "question" not in row.fields
    assert set(Counter(column(rows, "degradation_level")).values()) == {3}


@pytest.mark.parametrize("name", ["MedQ_Caption_sample", "MedQ_Paired_sample"])
def test_descriptions_have_three_to_five_sentences_and_name_the_degradation(packs, name):
    for row in packs[name]:
        text = row.fields["description"]
        assert 3 <= len(re.findall(r"\.(?: |$)", text)) <= 5
        level = row.fields["degradation_level"]
        assert level == "none" or re.search(rf"\b{level}(ly)?\b", text, re.IGNORECASE)
        assert NAMED_AS.get(row.fields["degradation_type"], "") in text
        assert text.isascii()
    degradations = set(column(packs[name], "degradation_type")) - {"none"}
    assert degradations <= set(NAMED_AS)


def test_pairs_are_balanced_and_their_texts_name_the_clean_image(packs):
    rows = packs["MedQ_Paired_sample"]
    kinds = Counter()
    for row in rows:
        better = PREFERENCE.search(row.fields["description"])[1]
        kinds[row.fields["difficulty"], better] += 1
        expected = (
            "coarse-grained" if row.fields["degradation_level"] == "severe" else ("fine-grained")
        )
        assert row.fields["difficulty"] == expected
        first, second = pixels_of(row)
        clean = [
            any(
                shown.shape == picture.shape and (shown == picture).all()
                for picture in map(clean_picture, medq_scenes.SUBJECTS)
            )
            for shown in (first, second)
        ]
        assert clean == [better == "first", better == "second"]
    assert set(kinds.values()) == {2}
    assert len(kinds) == 4


@pytest.mark.parametrize("name", ["MedQ_Paired_sample", "MedQDEG_sample"])
def test_levels_are_visible_and_severe_is_worse(packs, name):
    if name == "MedQ_Paired_sample":
        for row in packs[name]:
            ratio = peak_signal_noise_ratio(*pixels_of(row))
            low, high = (8, 28) if row.fields["degradation_level"] == "severe" else (17, 32)
            assert low < ratio < high, row.fields["index"]
        return
    for clean, mild, severe in zip(*[iter(packs[name])] * 3, strict=True):
        images = [pixels_of(row)[0] for row in (clean, mild, severe)]
        ratios = [peak_signal_noise_ratio(images[0], degraded) for degraded in images[1:]]
        assert 15 < ratios[0] < 32
        assert ratios[1] < ratios[0] - 4


def test_robustness_rows_ask_the_same_about_three_versions_of_a_picture(packs):
    rows = packs["MedQDEG_sample"]
    for group in zip(*[iter(rows)] * 3, strict=True):
        assert column(list(group), "degradation_severity") == ["L0", "L1", "L2"]
        assert group[0].fields["degradation_type"] == "none"
        assert len({row.fields["degradation_type"] for row in group[1:]}) == 1
        assert len({(row.fields["question"], row.fields["answer"]) for row in group}) == 1
    assert set(column(rows, "answer")) == set("ABCDE")
    assert sum("E" in row.fields for row in rows) == 6


def test_without_pydicom_its_rows_are_left_out_and_said_so(monkeypatch):
    monkeypatch.setattr(medq_scenes, "picture_path", lambda package, picture: None)
    whole = medq_sample_release("MedQ_MCQ_sample")
    rows = list(whole.rows)
    assert whole.count == len(rows) == 15
    assert set(column(rows, "modality")) == MODALITIES - {"MRI"}
    assert "9 rows left out" in whole.warnings[0]
    assert "medbench-vlmeval[sample]" in whole.warnings[0]
    assert column(rows, "index")[:3] == ["1", "4", "6"]


@pytest.mark.parametrize("name", ["MedQ_MCQ_test", "MedSG_sample", ""])
def test_other_names_are_refused_with_the_known_ones(name, tmp_path):
    with pytest.raises(ValueError, match="MedQ_MCQ_sample, MedQ_Caption_sample"):
        prepare_medq_sample(name, tmp_path)


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    root = tmp_path_factory.mktemp("packs")
    return root, {name: prepare_medq_sample(name, root) for name in PACKS}


@pytest.mark.parametrize("name", PACKS)
def test_a_prepared_pack_has_every_row_and_no_problem(packs, prepared, name):
    root, reports = prepared
    report = reports[name]
    assert (report.name, report.layout) == (name, "generated")
    assert report.n_samples == len(packs[name])
    assert report.problems == {}
    assert verify_data(name, root).ok


@pytest.mark.parametrize("name", PACKS)
def test_a_loaded_pack_says_what_its_rows_say(packs, prepared, name):
    data = load_medq(name, prepared[0])
    for sample, row in zip(data.samples, packs[name], strict=True):
        cells = row.fields
        assert sample.is_whole
        assert sample.problems == ()
        assert sample.key == cells["index"]
        assert sample.question == cells.get("question", "")
        assert sample.answer == cells.get("answer")
        assert sample.description == cells.get("description")
        assert sample.modality == cells["modality"]
        assert sample.degradation == cells["degradation_type"]
        assert sample.level in (cells.get("degradation_level"), cells.get("degradation_severity"))
        assert sample.difficulty == cells.get("difficulty", "")
        assert sample.scope == cells.get("scope", "")
        if name == "MedQ_MCQ_sample":
            assert sample.question_type == cells["question_type"]
            assert sample.options == {key: cells[key] for key in "ABCD" if key in cells}


@pytest.mark.parametrize("name", PACKS)
def test_a_second_call_generates_nothing(prepared, name, monkeypatch):
    root, reports = prepared
    monkeypatch.setattr(medq_sample, "png_bytes", lambda pixels: pytest.fail("made again"))
    stamps = {path: path.stat().st_mtime_ns for path in root.rglob("*") if path.is_file()}
    report = prepare_medq_sample(name, root)
    assert report.copied == 0
    assert report.fingerprint == reports[name].fingerprint
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_a_lost_picture_is_made_again_and_other_versions_make_the_pack_anew(tmp_path, monkeypatch):
    name = "MedQ_Caption_sample"
    before = prepare_medq_sample(name, tmp_path)
    picture = next(before.root.rglob("*.png"))
    kept = picture.read_bytes()
    picture.unlink()
    report = prepare_medq_sample(name, tmp_path)
    assert report.copied == 1
    assert report.fingerprint == before.fingerprint
    assert picture.read_bytes() == kept
    monkeypatch.setattr(medq_sample, "MEDQ_SCENES_VERSION", 99)
    assert prepare_medq_sample(name, tmp_path).revision.startswith("scenes 99, ")
