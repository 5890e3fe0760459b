"""SEED-X-Edit behind the bridge: run by a Python that has what the checkout of SEED-X asks for.

The modules, configuration files and calls are those of https://github.com/AILab-CVC/SEED-X at
420d347d (``src/inference/eval_img2edit_seed_x_edit.py``), whose demo values are the defaults. What
MedEBench used is unknown: its repository holds neither script nor settings for this model.
"""

from __future__ import annotations

import re
from typing import Any

DEFAULTS: dict[str, Any] = {
    "steps": 50,
    "guidance_scale": 7.5,
    "max_new_tokens": 512,
    "base_resolution": 448,
    "source_size": 1024,
    "diffusion_model": "pretrained/stable-diffusion-xl-base-1.0",
    "device": "cuda",
}
IMAGE_TOKENS = 64
CONFIGS = {
    "tokenizer": "configs/tokenizer/clm_llama_tokenizer_224loc_anyres.yaml",
    "transform": "configs/processer/qwen_448_transform.yaml",
    "visual_encoder": "configs/visual_encoder/qwen_vitg_448.yaml",
    "llm": "configs/clm_models/llm_seed_x_edit.yaml",
    "agent": "configs/clm_models/agent_seed_x_edit.yaml",
    "adapter": (
        "configs/sdxl_adapter/"
        "sdxl_qwen_vit_resampler_l4_q64_full_with_latent_image_pretrain_no_normalize.yaml"
    ),
}


class SeedXEdit:
    """The loaded parts of the model, from understanding the picture to drawing the new one."""

    def __init__(self, settings: dict[str, Any]) -> None:
        import torch

        self.settings = settings
        self.place = {"device": settings["device"], "dtype": torch.float16}
        self.tokenizer = _configured("tokenizer")
        self.transform = _configured("transform")
        self.visual_encoder = _configured("visual_encoder").eval().to(**self.place)
        llm = _configured("llm", torch_dtype=torch.float16)
        self.agent = _configured("agent", llm=llm).eval().to(**self.place)
        self.adapter = self._adapter()

    def _adapter(self) -> Any:
        from diffusers import AutoencoderKL, EulerDiscreteScheduler, UNet2DConditionModel

        folder = self.settings["diffusion_model"]
        unet = UNet2DConditionModel.from_pretrained(folder, subfolder="unet").to(**self.place)
        vae = AutoencoderKL.from_pretrained(folder, subfolder="vae").to(**self.place)
        adapter = _configured("adapter", unet=unet).to(**self.place).eval()
        adapter.init_pipe(
            vae=vae,
            scheduler=EulerDiscreteScheduler.from_pretrained(folder, subfolder="scheduler"),
            visual_encoder=self.visual_encoder,
            image_transform=self.transform,
            **self.place,
        )
        return adapter

    def edit(self, image_path: str, instruction: str, seed: int, settings: dict[str, Any]) -> Any:
        """The edited image, 1024 x 1024 whatever the input's shape, as the demo makes it."""
        import torch
        from PIL import Image
        from protocol import NoImage

        with Image.open(image_path) as opened:
            image = opened.convert("RGB")
        with torch.no_grad():
            answer = self._understand(image, instruction)
            if not answer["has_img_output"]:
                words = re.sub(r"<[^>]*>", "", answer["text"]).strip()
                raise NoImage(words or "no words and no image")
            size = int(self.settings["source_size"])
            return self.adapter.generate(
                image_embeds=answer["img_gen_feat"],
                latent_image=image.resize((size, size)),
                num_inference_steps=int(self.settings["steps"]),
                guidance_scale=float(self.settings["guidance_scale"]),
                seed=seed,
            )[0]

    def _understand(self, image: Any, instruction: str) -> dict[str, Any]:
        import torch
        from src.inference.any_res import process_anyres_image

        side = int(self.settings["base_resolution"])
        views, positions = process_anyres_image(image, self.transform, [[side, side]], side)
        ids = self._prompt_ids(instruction, n_views=int(views.shape[0]))
        device = self.settings["device"]
        answer: dict[str, Any] = self.agent.generate(
            tokenizer=self.tokenizer,
            input_ids=torch.tensor([ids], device=device, dtype=torch.long),
            image_embeds=self.visual_encoder(views.to(**self.place)),
            embeds_cmp_mask=torch.tensor([True] * int(views.shape[0]), device=device),
            patch_positions=positions,
            ids_cmp_mask=torch.tensor([self._image_mask(ids)], device=device),
            max_new_tokens=int(self.settings["max_new_tokens"]),
            num_img_gen_tokens=IMAGE_TOKENS,
            device=device,
        )
        return answer

    def _prompt_ids(self, instruction: str, *, n_views: int) -> list[int]:
        slots = "".join(f"<img_{number:05d}>" for number in range(IMAGE_TOKENS))
        views = f"<patch>{slots}</patch>" * (n_views - 1) + f"<img>{slots}</img>"
        prompt = f"[INST] {views}{instruction} [/INST]\n"
        written: list[int] = self.tokenizer.encode(prompt, add_special_tokens=False)
        return [self.tokenizer.bos_token_id, *written]

    def _image_mask(self, ids: list[int]) -> list[bool]:
        """True where an embedding of the picture takes the place of a token."""
        opening, closing = (
            {self.tokenizer.encode(token, add_special_tokens=False)[0] for token in tokens}
            for tokens in (("<img>", "<patch>"), ("</img>", "</patch>"))
        )
        mask: list[bool] = []
        inside = False
        for token in ids:
            inside = inside and token not in closing
            mask.append(inside)
            inside = inside or token in opening
        return mask


def _configured(part: str, **arguments: Any) -> Any:
    from hydra.utils import instantiate
    from omegaconf import OmegaConf

    return instantiate(OmegaConf.load(CONFIGS[part]), **arguments)


def main() -> None:
    """Load the model, then serve."""
    from protocol import serve, start_settings

    settings = start_settings(DEFAULTS)
    model = SeedXEdit(settings)
    serve(model.edit, name="SEED-X-Edit", about={"dtype": "float16", **settings})


if __name__ == "__main__":
    main()
