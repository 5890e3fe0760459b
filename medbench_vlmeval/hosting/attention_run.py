"""Lets one editor edit a benchmark while its cross-attention is recorded; ``medbench attention``.

The edits are those of a run: same message, same settings, same seed, so a judged run of the same
editor and the maps are about the same pictures.
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image
from tqdm import tqdm

from ..data import MedEBenchData, MedEBenchSample
from ..editing import EditReply, read_edit_reply
from ..evaluation.attention import EDITED_FOLDER, EDITS_LOG, check_maps_folder
from ..evaluation.attention_maps import AttentionMaps, write_maps
from ..files import (
    append_jsonl,
    json_line,
    sha256_bytes,
    to_plain,
    write_bytes_atomic,
)
from ..images import ImageUnreadable, encode_png, read_rgb
from ..types import Status
from .one_edit import built_model
from .probes import Host
from .registration import register

PUBLISHED_SIDE = 512
"""Side of the square that the released notebook squashes every picture to."""
SQUARE_FOLDER = "squashed"
RECORDING = "medbench_vlmeval.models.attention_recording"


@dataclass(frozen=True)
class AttentionTask:
    """Which editor is watched on which samples, and where the maps go."""

    model: str
    data: MedEBenchData
    out: Path
    models: Mapping[str, Any] = field(default_factory=dict)
    """The part ``model`` of a ``--config`` file; empty for VLMEvalKit's zoo."""
    limit: int | None = None
    """The first so many samples; None for all."""
    square: bool = False
    """Squash every picture to 512 × 512 before, as the released notebook does."""


@dataclass(frozen=True)
class AttentionRun:
    """What became of the samples of a task."""

    n_recorded: int
    n_there: int
    """Maps that an earlier call had made."""
    failed: Mapping[int, str]
    seconds: float


def record_attention(task: AttentionTask, host: Host | None) -> AttentionRun:
    """Edit every sample that has no map yet, and write its maps.

    Args:
        task: what to do.
        host: where VLMEvalKit is, for a clone that is not installed.

    Raises:
        ImportError: there is no VLMEvalKit, or diffusers is missing.
        NoCrossAttention: the model has none that could be recorded.
        BranchUnknown: see `models.attention_branches`.
        OSError, MemoryError: its weights cannot be had, or do not fit.
        ValueError: no such model, or the folder holds maps of other settings.
    """
    editor = _editor(task, host)
    check_maps_folder(task.out, _description(task, editor))
    samples = task.data.samples[: task.limit]
    there = {it.id for it in samples if (task.out / f"{it.id}.npz").is_file()}
    if len(there) < len(samples):
        editor.prepare()
    failed: dict[int, str] = {}
    started = time.monotonic()
    for sample in tqdm(samples, desc=f"Watching {task.model}", unit="edit"):
        if sample.id in there:
            continue
        line = _watched(sample, editor, task)
        append_jsonl(task.out / EDITS_LOG, {"index": sample.id, **line})
        if not line["status"].has_value:
            failed[sample.id] = line["note"]
    seconds = time.monotonic() - started
    return AttentionRun(len(samples) - len(there) - len(failed), len(there), failed, seconds)


def _editor(task: AttentionTask, host: Host | None) -> Any:
    """The editor, built as the host builds it, and known to have a UNet before weights load."""
    if host is None:
        raise ImportError(
            'expected VLMEvalKit, found none; pip install "medbench-vlmeval[host]", or work inside '
            "a clone of VLMEvalKit"
        )
    if not host.distribution:
        # a clone is importable only from its own folder
        sys.path.insert(0, str(host.package.parent))
    zoo = importlib.import_module("vlmeval.config").supported_VLM
    failures = register().failures
    editor = built_model(task.model, task.models, zoo, failures)
    recording = importlib.import_module(RECORDING)
    kind = importlib.import_module("medbench_vlmeval.models.diffusers_editor").DiffusersEditor
    if not isinstance(editor, kind):
        raise recording.NoCrossAttention(
            f"{task.model}: {recording.NO_CROSS_ATTENTION} (it is no editor on a UNet of "
            "diffusers; those are InstructPix2Pix, Paint-by-Inpaint, Imagic and your own)"
        )
    recording.check_has_unet(editor.plan)
    # one edit at a time, and really made: an edit from the store shows no attention
    editor.batch_size, editor.replicas, editor.reuse_edits = 1, 1, False
    return editor


def _description(task: AttentionTask, editor: Any) -> dict[str, Any]:
    """What is the same for all maps of one folder; without settings that may hold a key."""
    plan = editor.plan
    settings = json_line(editor.settings)
    described = {
        "model": task.model,
        "data": {"name": task.data.name, "fingerprint": task.data.fingerprint},
        "square": PUBLISHED_SIDE if task.square else None,
        "seed": editor.seed,
        "pipeline": plan.pipeline,
        "checkpoint": plan.checkpoint,
        "call": plan.call,
        "dtype": editor.dtype,
        "settings_sha256": sha256_bytes(settings.encode("utf-8", "replace")),
    }
    return dict(to_plain(described))


@dataclass
class _Watch:
    """Records the one call of a pipeline that an edit makes."""

    prompt: str
    recording: Any = None
    failure: Exception | None = None

    @contextmanager
    def around(self, pipe: Any) -> Iterator[None]:
        module = importlib.import_module(RECORDING)
        try:
            with module.recorded_attention(pipe, self.prompt) as self.recording:
                yield
        except (module.NoCrossAttention, module.BranchUnknown) as error:
            # an editor turns exceptions into answers; this one concerns every sample alike
            self.failure = error
            raise


def _watched(sample: MedEBenchSample, editor: Any, task: AttentionTask) -> dict[str, Any]:
    """Edit one sample and write its maps; what the log says about it."""
    started = time.monotonic()
    if not sample.instruction.strip():
        return {"status": Status.DATA_ERROR, "note": "instruction missing"}
    try:
        before = _input(sample, task)
    except (ImageUnreadable, FileNotFoundError) as error:
        return {"status": Status.DATA_ERROR, "note": str(error)}
    watch = _Watch(filled_in(editor, sample.instruction))
    editor.around_call = watch.around
    reply = read_edit_reply(editor.generate(_message(sample, before), dataset=task.data.name))
    if watch.failure is not None:
        raise watch.failure
    if watch.recording is None:
        # the pipeline was never called: the next samples would fail alike
        raise ValueError(f"{task.model} edits nothing: {reply.note}")
    if reply.stored is None:
        return {"status": reply.status, "note": reply.note, "model_fault": True}
    write_bytes_atomic(
        task.out / EDITED_FOLDER / f"{sample.id}.png", editor.store.path(reply.stored).read_bytes()
    )
    maps = _maps(watch.recording, editor, before, reply)
    write_maps(task.out / f"{sample.id}.npz", maps)
    seconds = round(time.monotonic() - started, 3)
    return {"status": Status.ANSWER, "note": "", "seconds": seconds, **maps.settings}


def filled_in(editor: Any, instruction: str) -> str:
    """What the pipeline is asked, as the editor words it."""
    plan_module = importlib.import_module("medbench_vlmeval.models.diffusers_plan")
    return str(plan_module.filled_in(editor.plan.template, instruction.strip()))


def _input(sample: MedEBenchSample, task: AttentionTask) -> Path:
    """The picture that the editor is given.

    Raises:
        ImageUnreadable, FileNotFoundError: there is none.
    """
    if sample.previous is None:
        raise FileNotFoundError("previous image missing")
    pixels = read_rgb(sample.previous).pixels
    if not task.square:
        return sample.previous
    side = (PUBLISHED_SIDE, PUBLISHED_SIDE)
    squashed = Image.fromarray(pixels).resize(side, Image.Resampling.BICUBIC)
    return write_bytes_atomic(task.out / SQUARE_FOLDER / f"{sample.id}.png", encode_png(squashed))


def _message(sample: MedEBenchSample, before: Path) -> list[dict[str, str]]:
    guarded_text = importlib.import_module("medbench_vlmeval.datasets.base").guarded_text
    return [
        {"type": "image", "value": str(before)},
        {"type": "text", "value": guarded_text(sample.instruction)},
    ]


def _maps(recording: Any, editor: Any, before: Path, reply: EditReply) -> AttentionMaps:
    fitted = editor.fitted(Image.fromarray(read_rgb(before).pixels))
    width, height = (
        content / frame for content, frame in zip(fitted.content_wh, fitted.image.size, strict=True)
    )
    return AttentionMaps(
        maps=recording.maps(),
        tokens=recording.tokens,
        content_wh=(width, height),
        truncated=recording.truncated,
        edited_sha256=reply.stored.sha256 if reply.stored else "",
        settings={
            "seed": reply.seed,
            "steps": recording.n_steps,
            "maps": recording.averaged.n_maps,
            "branch_checked": recording.branch.checked,
        },
    )
