"""InstructDiffusion behind the bridge: run by a Python that has what its checkout asks for.

The modules, files and calls are those of https://github.com/cientgu/InstructDiffusion at 435f0c3e
(``edit_cli.py``, whose loading and guidance are imported, not repeated). MedEBench published
checkpoint, steps and guidance, but not its wrapper; the defaults are its values.
"""

from __future__ import annotations

import math
import sys
from typing import Any

DEFAULTS: dict[str, Any] = {
    "steps": 50,
    "cfg_text": 5.0,
    "cfg_image": 1.25,
    "resolution": 512,
    "config": "configs/instruct_diffusion.yaml",
    "checkpoint": "checkpoints/v1-5-pruned-emaonly-adaption-task.ckpt",
    "device": "cuda",
}
MULTIPLE = 64


def working_size(size_wh: tuple[int, int], resolution: int) -> tuple[int, int]:
    """Width and height at which the model edits an image of `size_wh`.

    The longer side goes to `resolution`, then the scale grows until the shorter side is a multiple
    of 64, and the longer one is cut down to one. So the longer side of a 1000 x 520 image becomes
    576, not 512: that is upstream's arithmetic.
    """
    short = min(size_wh)
    scale = resolution / max(size_wh)
    scale = math.ceil(short * scale / MULTIPLE) * MULTIPLE / short
    width, height = (int(side * scale // MULTIPLE) * MULTIPLE for side in size_wh)
    return width, height


class InstructDiffusion:
    """The loaded model with its Euler-ancestral sampler."""

    def __init__(self, settings: dict[str, Any]) -> None:
        sys.path.append("./stable_diffusion")
        import k_diffusion
        from edit_cli import CFGDenoiser, load_model_from_config
        from omegaconf import OmegaConf

        self.settings = settings
        config = OmegaConf.load(settings["config"])
        self.model = load_model_from_config(config, settings["checkpoint"], None)
        self.model.eval().to(settings["device"])
        self.denoiser = k_diffusion.external.CompVisDenoiser(self.model)
        self.guided = CFGDenoiser(self.denoiser)
        self.no_words = self.model.get_learned_conditioning([""])

    def edit(self, image_path: str, instruction: str, seed: int, settings: dict[str, Any]) -> Any:
        """The edited image in the input's size."""
        import torch
        from PIL import Image, ImageOps

        with Image.open(image_path) as opened:
            image = opened.convert("RGB")
        resolution = int(self.settings["resolution"])
        sized = ImageOps.fit(
            image, working_size(image.size, resolution), method=Image.Resampling.LANCZOS
        )
        with torch.no_grad(), torch.autocast(self.settings["device"]):
            pixels = self._sample(sized, instruction, seed)
        return ImageOps.fit(Image.fromarray(pixels), image.size, method=Image.Resampling.LANCZOS)

    def _sample(self, image: Any, instruction: str, seed: int) -> Any:
        """The model's picture, uint8 of shape (H, W, 3)."""
        import k_diffusion
        import numpy
        import torch

        values = torch.from_numpy(numpy.array(image)).float().to(self.settings["device"])
        values = (values / 127.5 - 1).permute(2, 0, 1)[None]
        latent = self.model.encode_first_stage(values).mode()
        words = self.model.get_learned_conditioning([instruction])
        conditions = {
            "cond": {"c_crossattn": [words], "c_concat": [latent]},
            "uncond": {"c_crossattn": [self.no_words], "c_concat": [torch.zeros_like(latent)]},
            "text_cfg_scale": float(self.settings["cfg_text"]),
            "image_cfg_scale": float(self.settings["cfg_image"]),
        }
        sigmas = self.denoiser.get_sigmas(int(self.settings["steps"]))
        torch.manual_seed(seed)
        noise = torch.randn_like(latent) * sigmas[0]
        drawn = k_diffusion.sampling.sample_euler_ancestral(
            self.guided, noise, sigmas, extra_args=conditions
        )
        decoded = self.model.decode_first_stage(drawn)[0].permute(1, 2, 0)
        grey = ((decoded.float() + 1) * 127.5).clamp(0, 255)
        return grey.to(torch.uint8).cpu().numpy()


def main() -> None:
    """Load the model, then serve."""
    from protocol import serve, start_settings

    settings = start_settings(DEFAULTS)
    model = InstructDiffusion(settings)
    serve(model.edit, name="InstructDiffusion", about=settings)


if __name__ == "__main__":
    main()
