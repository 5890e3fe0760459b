"""What recording cross-attention costs an edit: the time with it over the time without.

    python benchmarks/attention.py             SD 1.5's layout with narrow layers, some minutes
    python benchmarks/attention.py --full      SD 1.5's own widths (about 4 GB of memory, slow)
    python benchmarks/attention.py --device cuda --dtype float16 --full

Weights are random: they decide nothing about the time. InstructPix2Pix at 512 x 512, guidance as
published. Calls with and without recording take turns; on the CPU it is processor time of one
thread, so that other programs count less.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

PROMPT = "Cut polyp."
NARROW, FULL = (64, 128, 256, 256), (320, 640, 1280, 1280)


def pipeline(folder: Path, *, full: bool, device: str, dtype: str) -> Any:
    """InstructPix2Pix with a UNet of 16 cross-attention layers, and small everything else."""
    import torch
    from diffusers import StableDiffusionInstructPix2PixPipeline, UNet2DConditionModel

    from tests.host.tiny_pipelines import quiet_torch, save_instruct_pix2pix

    quiet_torch()
    pipe = StableDiffusionInstructPix2PixPipeline.from_pretrained(
        save_instruct_pix2pix(folder), dtype=getattr(torch, dtype)
    )
    # the small text encoder gives states of 32 channels for 32 tokens
    unet = UNet2DConditionModel(
        sample_size=64,
        in_channels=8,
        block_out_channels=FULL if full else NARROW,
        cross_attention_dim=32,
        attention_head_dim=8,
    )
    pipe.register_modules(unet=unet.eval().to(device, getattr(torch, dtype)))
    pipe.set_progress_bar_config(disable=True)
    return pipe.to(device)


def seconds(pipe: Any, image: Image.Image, steps: int, *, record: bool) -> tuple[float, int]:
    """Time of one edit, and how many maps were averaged."""
    import torch

    from medbench_vlmeval.models.attention_recording import recorded_attention

    clock = time.process_time if pipe.device.type == "cpu" else time.perf_counter
    generator = torch.Generator().manual_seed(0)
    watched = recorded_attention(pipe, PROMPT) if record else nullcontext()
    started = clock()
    with watched as recording:
        pipe(
            PROMPT,
            image=image,
            num_inference_steps=steps,
            guidance_scale=7.5,
            image_guidance_scale=1.6,
            generator=generator,
            output_type="np",
        )
    return clock() - started, recording.averaged.n_maps if recording else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--full", action="store_true", help="the widths of SD 1.5")
    parser.add_argument("--steps", type=int, default=2)
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    chosen = parser.parse_args()
    pixels = np.random.default_rng(0).integers(0, 256, (512, 512, 3), dtype=np.uint8)
    image = Image.fromarray(pixels)
    with tempfile.TemporaryDirectory() as folder:
        pipe = pipeline(Path(folder), full=chosen.full, device=chosen.device, dtype=chosen.dtype)
        seconds(pipe, image, 1, record=True)
        times: dict[bool, list[float]] = {False: [], True: []}
        n_maps = 0
        for _ in range(chosen.repetitions):
            for record in (False, True):
                took, found = seconds(pipe, image, chosen.steps, record=record)
                times[record].append(took)
                n_maps = max(n_maps, found)
    without, having = (statistics.median(times[it]) for it in (False, True))
    ratios = [b / a for a, b in zip(times[False], times[True], strict=True)]
    width = "SD 1.5" if chosen.full else "narrow"
    print(f"{width} UNet on {chosen.device}, {chosen.dtype}, {chosen.steps} steps, {n_maps} maps")
    print(f"  without recording  {without:7.2f} s")
    print(f"  with recording     {having:7.2f} s")
    print(
        f"  ratio              {statistics.median(ratios):7.3f}  "
        f"({min(ratios):.3f} to {max(ratios):.3f})"
    )


if __name__ == "__main__":
    main()
