"""What becomes of images on their way through the real host."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytestmark = pytest.mark.host


def pictures(folder: Path, *sizes_wh: tuple[int, int]) -> list[Path]:
    generator = np.random.default_rng(0)
    paths = []
    for number, (width, height) in enumerate(sizes_wh):
        pixels = generator.integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / f"{number}.png")
        paths.append(folder / f"{number}.png")
    return paths


def fidelity(images: list[Path], model: str) -> dict[str, Any]:
    from medbench_vlmeval.hosting.image_fidelity import image_fidelity

    return image_fidelity(images, model)


def test_an_unknown_model_may_get_jpeg_and_small_images_enlarged(tmp_path: Path) -> None:
    facts = fidelity(pictures(tmp_path, (120, 130), (64, 48)), "behind-some-address")
    assert facts["route"] == "unknown"
    encoding = facts["host_encoding"]
    assert (encoding["format"], encoding["checked"]) == ("JPEG", 2)
    assert (encoding["changed"], encoding["enlarged"]) == (2, 1)
    assert 10 < encoding["mean_psnr"] < 40
    assert "1 are enlarged" in facts["notes"][0]


def test_a_local_model_opens_the_file(tmp_path: Path) -> None:
    facts = fidelity(pictures(tmp_path, (120, 130)), "Baseline-FirstOption")
    assert (facts["route"], facts["notes"]) == ("file", [])


@pytest.mark.parametrize(
    ("name", "route"), [("GPT-4o-lossless", "original bytes"), ("GPT4o", "host encoding")]
)
def test_models_behind_an_api_are_told_apart(name: str, route: str, tmp_path: Path) -> None:
    assert fidelity(pictures(tmp_path, (120, 130)), name)["route"] == route


def test_a_flat_image_survives_jpeg_and_gives_no_note(tmp_path: Path) -> None:
    Image.new("RGB", (128, 128), (128, 128, 128)).save(tmp_path / "flat.png")
    facts = fidelity([tmp_path / "flat.png"], "x")
    assert (facts["host_encoding"]["changed"], facts["notes"]) == (0, [])


def test_a_damaged_image_is_counted_apart(tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    assert fidelity([tmp_path / "broken.png"], "x")["host_encoding"]["unreadable"] == 1


def test_no_more_than_a_part_of_many_images_is_looked_at(tmp_path: Path) -> None:
    images = pictures(tmp_path, *[(100, 100)] * 70)
    checked = fidelity(images, "x")["host_encoding"]["checked"]
    assert 16 <= checked <= 32


def test_the_lossless_wrapper_sends_the_file_and_hides_the_key(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    import base64

    from vlmeval.config import supported_VLM

    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-42")
    entry = supported_VLM["GPT-4o-lossless"]
    model = functools.partial(entry.func, **entry.keywords)(api_base="http://127.0.0.1:9/v1")
    assert model.key == "sk-canary-42"
    assert "sk-canary-42" not in caplog.text
    (path,) = pictures(tmp_path, (33, 44))
    parts = model.prepare_itlist(
        [{"type": "image", "value": str(path)}, {"type": "text", "value": "?"}]
    )
    url = parts[0]["image_url"]["url"]
    assert base64.b64decode(url.partition(",")[2]) == path.read_bytes()
    assert parts[1] == {"type": "text", "text": "?"}
    with pytest.raises(ValueError, match="text or image"):
        model.prepare_itlist([{"type": "video", "value": "x"}])
