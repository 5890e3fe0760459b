"""Editors of other people in the real host: the example of the docs, and models that misbehave."""

from __future__ import annotations

from pathlib import Path

import pytest

from medbench_vlmeval.files import read_jsonl

from .plugins import write_plugin
from .running import Host

pytestmark = pytest.mark.host

MISBEHAVING = """
from medbench_vlmeval.editing import NoImageReturned
from medbench_vlmeval.models.base import ImageEditor, declined
from medbench_vlmeval.registry import register_editor
from medbench_vlmeval.data import sample_of


@register_editor("Misbehaving")
class Misbehaving(ImageEditor):
    deterministic = False

    def edit(self, image, instruction, *, seed):
        raise NotImplementedError

    def edit_request(self, request):
        number = sample_of(request.image_path).id
        if number == 1:
            raise RuntimeError("CUDA out of memory")
        if number == 2:
            raise declined("I cannot help with editing medical images.")
        if number == 3:
            return "Here is a description of the edited image."
        if number == 4:
            raise NoImageReturned("text only")
        if number == 5:
            return b"\\x89PNG\\r\\n\\x1a\\n broken"
        if number == 6:
            raise AssertionError
        return request.image
"""
EXPECTED = {
    1: "api_fail",
    2: "refusal",
    3: "missing",
    4: "missing",
    5: "api_fail",
    6: "api_fail",
    7: "answer",
}


@pytest.mark.parametrize("mode", [(), ("--api-mode",)], ids=["local", "api-mode"])
def test_a_misbehaving_model_neither_stops_nor_hangs_the_host(
    tmp_path: Path, mode: tuple[str, ...]
) -> None:
    folder = write_plugin(tmp_path / "plugin", "misbehaving_editor", MISBEHAVING)
    host = Host("ms-vlmeval", tmp_path, {"PYTHONPATH": str(folder)})
    host.run("--data", "MedEBench_sample", "--model", "Misbehaving", *mode)
    predictions = host.result("Misbehaving", "MedEBench_sample")
    rows, _ = read_jsonl(predictions.with_name(f"{predictions.stem}_scores.jsonl"))
    statuses = {row["index"]: row["edited"]["status"] for row in rows}
    assert {number: statuses[number] for number in EXPECTED} == EXPECTED
    scores = host.scores("Misbehaving", "MedEBench_sample")
    assert scores["n_answered"] == scores["n_expected"] - 6
    assert scores["CP"] == 1.0, "the published mean leaves out what the model did not give"
    share = scores["n_answered"] / scores["n_expected"]
    assert scores["CP_strict"] == pytest.approx(share), "the strict mean counts it as worst"
