from __future__ import annotations

import os
import pickle
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from torch_fidelity.feature_extractor_inceptionv3 import FeatureExtractorInceptionV3

from medbench_vlmeval.features import (
    WeightsUnusable,
    extractor_named,
    frechet_name,
    kernel_name,
    read_weights,
)
from medbench_vlmeval.features.inception import InceptionFeatures
from medbench_vlmeval.features.weights import FETCHED_NAMES
from medbench_vlmeval.files import sha256_file

from .networks import pictures, save_random_inception


@pytest.fixture(scope="module")
def weights(tmp_path_factory: pytest.TempPathFactory) -> Path:
    torch.set_num_threads(1)
    return save_random_inception(tmp_path_factory.mktemp("weights") / "inception.pth")


@pytest.fixture(scope="module")
def inception(weights: Path) -> InceptionFeatures:
    return InceptionFeatures(weights, sha256_file(weights))


def test_the_network_is_that_of_torch_fidelity(inception: InceptionFeatures, weights: Path) -> None:
    theirs = FeatureExtractorInceptionV3(
        "inception-v3-compat", ["2048"], feature_extractor_weights_path=str(weights)
    )
    images = pictures(2)  # of the network's own size: torch-fidelity resizes in another way
    with torch.inference_mode():
        (expected,) = theirs(torch.from_numpy(np.stack(images).transpose(0, 3, 1, 2)))
    ours = inception(images)
    assert ours.shape == (2, 2048)
    scale = np.abs(expected.numpy()).max()
    assert np.abs(ours - expected.numpy()).max() < 1e-4 * scale
    assert np.abs(ours[0] - ours[1]).max() > 1e-2 * scale


def test_images_of_mixed_sizes_do_not_depend_on_their_batch(inception: InceptionFeatures) -> None:
    images = [*pictures(1, size_wh=(40, 30)), *pictures(1, 1, (400, 123))]
    together = inception(images)
    apart = np.concatenate([inception([image]) for image in images])
    assert np.abs(together - apart).max() < 1e-4 * np.abs(together).max()


def test_other_weights_than_the_published_are_not_called_fid(
    inception: InceptionFeatures, weights: Path
) -> None:
    digits = sha256_file(weights)[:8]
    assert frechet_name(inception) == f"Frechet_inception_{digits}"
    assert kernel_name(inception) == f"MMD2_inception_{digits}"


def test_the_published_weights_are_called_fid(inception: InceptionFeatures) -> None:
    class Published:
        name, dim, resize = inception.name, inception.dim, inception.resize
        sha256 = "6726825d" + "0" * 56
        __call__ = inception.__call__

    assert (frechet_name(Published()), kernel_name(Published())) == ("FID", "KID")


@pytest.mark.parametrize("name", FETCHED_NAMES)
def test_fetched_weights_are_found_and_their_bytes_are_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    place = tmp_path / "hub" / "checkpoints" / name
    place.parent.mkdir(parents=True)
    place.write_bytes(b"not what was published")
    with pytest.raises(WeightsUnusable, match=re.escape(f"{place}: expected SHA-256 6726825d")):
        extractor_named("inception")


def test_without_weights_the_ways_to_get_them_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TORCH_HOME", str(tmp_path))
    with pytest.raises(WeightsUnusable) as caught:
        extractor_named("inception")
    for words in (*FETCHED_NAMES, "--weights", "downloads nothing", "efficientnet_lite0"):
        assert words in str(caught.value)


def test_a_wrong_hash_is_refused_before_the_file_is_read(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    path.write_bytes(b"no weights at all")
    with pytest.raises(
        WeightsUnusable, match=f"expected SHA-256 {'a' * 64}, got {sha256_file(path)}"
    ):
        read_weights(path, "a" * 64)


class RunsSomething:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[object, ...]:
        return os.mkdir, (str(self.folder),)


@pytest.mark.parametrize("write", [torch.save, lambda it, path: path.write_bytes(pickle.dumps(it))])
def test_code_in_a_weight_file_is_not_run(tmp_path: Path, write: object) -> None:
    path, trace = tmp_path / "weights.pth", tmp_path / "it-ran"
    write({"weight": torch.zeros(2), "more": RunsSomething(trace)}, path)  # type: ignore[operator]
    with pytest.raises(WeightsUnusable, match="without running code from it") as caught:
        read_weights(path, sha256_file(path))
    assert not trace.exists()
    assert "weights_only" not in str(caught.value)


@pytest.mark.filterwarnings("ignore:.torch.jit:FutureWarning")
@pytest.mark.filterwarnings("ignore:.torch.jit:DeprecationWarning")
def test_a_torchscript_file_is_no_weight_file(tmp_path: Path) -> None:
    path = tmp_path / "inception-2015-12-05.pt"
    torch.jit.trace(torch.nn.Linear(2, 2), torch.zeros(1, 2)).save(str(path))
    with pytest.raises(WeightsUnusable, match="TorchScript files are programs"):
        read_weights(path)


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 cut", b"<html>404</html>"])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "weights.pth"
    path.write_bytes(content)
    with pytest.raises(WeightsUnusable, match=r"weights\.pth"):
        read_weights(path)


def test_a_cut_file_is_refused(tmp_path: Path, weights: Path) -> None:
    path = tmp_path / "weights.pth"
    path.write_bytes(weights.read_bytes()[:1_000_000])
    with pytest.raises(WeightsUnusable, match="or is cut"):
        read_weights(path)


@pytest.mark.parametrize("content", [{"epoch": 3}, [torch.zeros(2)], torch.zeros(2)])
def test_other_things_than_tensors_by_name_are_refused(tmp_path: Path, content: object) -> None:
    torch.save(content, tmp_path / "weights.pth")
    with pytest.raises(WeightsUnusable, match="expected tensors by name"):
        read_weights(tmp_path / "weights.pth")


def test_weights_of_another_network_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "weights.pth"
    torch.save({"conv.weight": torch.zeros(2)}, path)
    with pytest.raises(WeightsUnusable, match="got those of another network"):
        InceptionFeatures(path, sha256_file(path))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"name": "resnet"}, "expected an extractor among inception, efficientnet_lite0"),
        ({"name": "inception", "weights": Path("x.pth")}, "SHA-256 together"),
        ({"name": "inception", "weights_sha256": "a" * 64}, "SHA-256 together"),
        ({"name": "inception", "weights": Path("x.pth"), "weights_sha256": "a"}, "no such weight"),
        (
            {"name": "efficientnet_lite0", "weights": Path("x"), "weights_sha256": "a"},
            "comes with its own",
        ),
    ],
    ids=["unknown", "no hash", "no file given", "no file there", "not its weights"],
)
def test_extractors_that_cannot_be_named_so(given: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        extractor_named(**given)  # type: ignore[arg-type]


@pytest.mark.parametrize("sha256", ["6726", "g" * 64, "a" * 65])
def test_what_is_no_hash_is_refused(weights: Path, sha256: str) -> None:
    with pytest.raises(WeightsUnusable, match="64 hex digits"):
        read_weights(weights, sha256)
