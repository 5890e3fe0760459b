from __future__ import annotations

import base64
import io
import json
import shutil
from pathlib import Path

import pytest
from PIL import Image

from medbench_vlmeval.editing import (
    EditCollector,
    EditStore,
    edit_key,
    edited_image_line,
    failed_call_line,
    image_format,
    no_image_line,
    read_edit_reply,
    resolve_inside,
    with_replicas,
)
from medbench_vlmeval.types import Status


def png(color: tuple[int, int, int] = (200, 10, 10), kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (16, 12), color).save(stream, kind)
    return stream.getvalue()


@pytest.fixture
def store(tmp_path: Path) -> EditStore:
    return EditStore(tmp_path / "store")


@pytest.fixture
def collector(tmp_path: Path, store: EditStore) -> EditCollector:
    run = tmp_path / "work" / "M" / "T1"
    run.mkdir(parents=True)
    return EditCollector(run / "M_MedEBench_test.xlsx", store)


def test_the_line_survives_cells_of_every_format(store: EditStore) -> None:
    line = edited_image_line(store.add(png()), size_wh=(16, 12), seed=7, settings="abc")
    assert line.startswith("{")
    assert len(line) < 250
    assert "\n" not in line
    assert "://" not in line
    assert json.loads(line)["edited_image"]["size"] == [16, 12]


def test_adding_the_same_bytes_twice_is_one_file(store: EditStore) -> None:
    assert store.add(png()) == store.add(png())
    assert len(list(store.root.rglob("*.png"))) == 1


def test_a_damaged_file_in_the_store_is_written_again(store: EditStore) -> None:
    image = store.add(png())
    store.path(image).write_bytes(b"damaged")
    assert not store.holds(image)
    store.add(png())
    assert store.holds(image)


@pytest.mark.parametrize("data", [b"", b"no image at all", b"<svg/>"], ids=ascii)
def test_bytes_that_are_no_image_are_refused(store: EditStore, data: bytes) -> None:
    with pytest.raises(ValueError, match="expected the bytes of one of"):
        store.add(data)


@pytest.mark.parametrize("kind", ["PNG", "JPEG", "WEBP", "GIF", "TIFF", "BMP"])
def test_formats_are_told_by_content(kind: str) -> None:
    assert image_format(png(kind=kind)) == kind.lower()


def test_the_memory_forgets_an_edit_whose_image_is_gone(store: EditStore) -> None:
    image = store.add(png())
    line = edited_image_line(image, size_wh=(16, 12))
    key = edit_key(model="m", settings={}, instruction="i", images=[b"x"], seed=0)
    assert store.recall(key) is None
    store.remember(key, line)
    assert store.recall(key) == line
    store.path(image).unlink()
    assert store.recall(key) is None


def test_every_part_of_an_edit_is_in_its_key() -> None:
    base = {"model": "m", "settings": {"steps": 5}, "instruction": "i", "images": [b"x"], "seed": 0}
    changed = [
        {"model": "n"},
        {"settings": {"steps": 6}},
        {"instruction": "j"},
        {"images": [b"y"]},
        {"images": [b"x", b"x"]},
        {"seed": 1},
    ]
    keys = {edit_key(**base), *(edit_key(**{**base, **change}) for change in changed)}
    assert len(keys) == len(changed) + 1


@pytest.mark.parametrize(
    ("prediction", "status"),
    [
        (None, Status.MISSING),
        (float("nan"), Status.MISSING),
        ("", Status.MISSING),
        ("   ", Status.MISSING),
        (failed_call_line("server gone"), Status.API_FAIL),
        (no_image_line(Status.REFUSAL, "I will not edit this."), Status.REFUSAL),
        (no_image_line(Status.MISSING, "text only"), Status.MISSING),
        ("I'm sorry, but I can't help with editing medical images.", Status.REFUSAL),
        ("Here is a description of the edited image: the polyp is gone.", Status.MISSING),
        ('{"answer": 3}', Status.MISSING),
        ('{"edited_image": {"sha256": "../../etc/passwd", "format": "png"}}', Status.MISSING),
        ("[" * 5000, Status.MISSING),
        ("data:image/png;base64,AAAA", Status.MISSING),
        ("data:image/png;base64,A", Status.TRUNCATED),
        ("x" * 40_000, Status.MISSING),
        ("<PIL.Image.Image image mode=RGB size=16x12>", Status.MISSING),
    ],
)
def test_replies_without_an_image_have_a_status(prediction: object, status: Status) -> None:
    reply = read_edit_reply(prediction)
    assert reply.status is status
    assert (reply.stored, reply.path, reply.data) == (None, None, None)


def test_a_refusal_keeps_the_models_own_words() -> None:
    reply = read_edit_reply(no_image_line(Status.REFUSAL, "I will not edit this."))
    assert reply.note == "I will not edit this."


def test_a_stored_image_is_copied_beside_the_predictions(
    collector: EditCollector, store: EditStore
) -> None:
    line = edited_image_line(store.add(png()), size_wh=(16, 12))
    edited = collector.collect(line)
    assert edited.status is Status.ANSWER
    assert edited.path is not None
    assert edited.path.parent.name == "M_MedEBench_test_images"
    assert edited.path.read_bytes() == png()


def test_collected_images_outlive_the_store_and_a_move(
    collector: EditCollector, store: EditStore, tmp_path: Path
) -> None:
    line = edited_image_line(store.add(png()), size_wh=(16, 12))
    collector.collect(line)
    shutil.rmtree(store.root)
    shutil.move(tmp_path / "work", tmp_path / "elsewhere")
    moved = EditCollector(tmp_path / "elsewhere" / "M" / "T1" / collector.predictions.name, store)
    edited = moved.collect(line)
    assert edited.status is Status.ANSWER
    assert edited.path is not None
    assert edited.path.is_relative_to(tmp_path / "elsewhere")


def test_reuse_finds_images_of_a_sibling_run(collector: EditCollector, store: EditStore) -> None:
    line = edited_image_line(store.add(png()), size_wh=(16, 12))
    collector.collect(line)
    shutil.rmtree(store.root)
    later = collector.predictions.parent.parent / "T2" / collector.predictions.name
    edited = EditCollector(later, store).collect(line)
    assert edited.status is Status.ANSWER
    assert edited.path is not None
    assert edited.path.parent.parent.name == "T2"


def test_a_lost_image_is_told_from_one_never_made(collector: EditCollector) -> None:
    line = json.dumps({"edited_image": {"format": "png", "sha256": "0" * 64, "size": [1, 1]}})
    edited = collector.collect(line)
    assert edited.lost
    assert edited.status is Status.MISSING
    assert not collector.collect("text").lost


def test_a_damaged_copy_is_replaced_from_the_store(
    collector: EditCollector, store: EditStore
) -> None:
    line = edited_image_line(store.add(png()), size_wh=(16, 12))
    first = collector.collect(line)
    assert first.path is not None
    first.path.unlink()
    first.path.write_bytes(b"damaged")
    again = collector.collect(line)
    assert again.path is not None
    assert again.path.read_bytes() == png()


def test_a_data_uri_is_an_image(collector: EditCollector) -> None:
    uri = "data:image/png;base64," + base64.b64encode(png()).decode()
    assert collector.collect(uri).status is Status.ANSWER


def test_the_first_of_several_images_counts_and_is_flagged(
    collector: EditCollector, store: EditStore
) -> None:
    first, second = store.add(png((1, 2, 3))), store.add(png((4, 5, 6)))
    lines = [json.loads(edited_image_line(image, size_wh=(16, 12))) for image in (first, second)]
    edited = collector.collect(json.dumps(lines))
    assert edited.sha256 == first.sha256
    assert edited.flags == {"several_images"}


def test_a_path_inside_the_run_folder_is_read(collector: EditCollector) -> None:
    (collector.predictions.parent / "edits").mkdir()
    (collector.predictions.parent / "edits" / "1.png").write_bytes(png())
    assert collector.collect("edits/1.png").status is Status.ANSWER


def test_a_path_outside_the_allowed_roots_is_refused(
    collector: EditCollector, tmp_path: Path
) -> None:
    secret = tmp_path / "secret.png"
    secret.write_bytes(png())
    edited = collector.collect(str(secret))
    assert edited.status is Status.MISSING
    assert "MEDBENCH_IMAGE_ROOTS" in edited.note


def test_a_root_the_user_allowed_is_read(
    collector: EditCollector, store: EditStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "1.png").write_bytes(png())
    monkeypatch.setenv("MEDBENCH_IMAGE_ROOTS", str(folder))
    edited = EditCollector(collector.predictions, store).collect(str(folder / "1.png"))
    assert edited.status is Status.ANSWER


def test_climbing_out_with_dots_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(png())
    (tmp_path / "root").mkdir()
    with pytest.raises(PermissionError, match=r"'\.\.'"):
        resolve_inside("root/../a.png", [tmp_path / "root"])


def test_a_symbolic_link_out_of_the_root_is_refused(tmp_path: Path) -> None:
    outside, root = tmp_path / "outside.png", tmp_path / "root"
    outside.write_bytes(png())
    root.mkdir()
    (root / "link.png").symlink_to(outside)
    with pytest.raises(PermissionError, match="allowed folder"):
        resolve_inside("link.png", [root])


def test_a_file_that_is_no_image_is_missing(collector: EditCollector) -> None:
    (collector.predictions.parent / "1.png").write_bytes(b"not an image")
    edited = collector.collect("1.png")
    assert edited.status is Status.MISSING
    assert "not an image" in edited.note


def several(store: EditStore, *colours: tuple[int, int, int] | None) -> str:
    lines = [
        None
        if colour is None
        else edited_image_line(store.add(png(colour)), size_wh=(16, 12), seed=seed, settings="abc")
        for seed, colour in enumerate(colours)
    ]
    first, *others = lines
    assert first is not None
    return with_replicas(first, others)


def test_further_images_are_copied_beside_the_predictions(
    collector: EditCollector, store: EditStore
) -> None:
    edited = collector.collect(several(store, (1, 1, 1), (2, 2, 2), None, (3, 3, 3)))
    assert [path is None for path in edited.replicas] == [False, True, False]
    assert edited.replica_seeds == (1, None, 3)
    assert not edited.lost
    shutil.rmtree(store.root)
    again = collector.collect(several(EditStore(store.root), (1, 1, 1)))
    assert again.path == edited.path
    assert edited.replicas[2] is not None
    assert edited.replicas[2].parent == collector.folder
    assert edited.replicas[2].read_bytes() == png((3, 3, 3))


def test_a_further_image_that_is_gone_is_lost_and_the_first_still_counts(
    collector: EditCollector, store: EditStore
) -> None:
    line = several(store, (1, 1, 1), (2, 2, 2), (3, 3, 3))
    store.path(store.add(png((3, 3, 3)))).unlink()
    edited = collector.collect(line)
    assert edited.status is Status.ANSWER
    assert edited.lost
    assert "1 of 2 further images are gone" in edited.note
    assert [path is None for path in edited.replicas] == [False, True]


def test_the_index_says_which_file_is_which_image_of_a_sample(
    collector: EditCollector, store: EditStore
) -> None:
    first = collector.collect(several(store, (1, 1, 1), None, (3, 3, 3)))
    second = collector.collect(edited_image_line(store.add(png((4, 4, 4))), size_wh=(16, 12)))
    path = collector.write_index([(7, first), ("8", second), (9, collector.collect("no"))])
    assert path == collector.folder / "index.csv"
    assert first.path is not None
    assert first.replicas[1] is not None
    assert second.path is not None
    assert path.read_text(encoding="utf-8").splitlines() == [
        "id,replica,file,seed,settings",
        f"7,0,{first.path.name},0,abc",
        f"7,2,{first.replicas[1].name},2,abc",
        f"8,0,{second.path.name},,",
    ]
    collector.write_index([(9, collector.collect("no"))])
    assert path.read_text(encoding="utf-8") == "id,replica,file,seed,settings\n"
    assert [it.name for it in collector.folder.iterdir() if it.suffix == ".part"] == []


def test_there_is_no_index_without_images(collector: EditCollector) -> None:
    assert collector.write_index([(1, collector.collect("no"))]) is None
    assert not collector.folder.exists()
