"""Pipelines of diffusers with random weights of a few kilobytes, saved as real checkpoints are.

Nothing is downloaded: the tokenizers are built from vocabularies written here.
"""

from __future__ import annotations

import json
import string
from pathlib import Path
from typing import Any

_CHANNELS = (8, 16)


def quiet_torch() -> None:
    """One thread: tiny tensors lose more to the threads than they win."""
    import torch

    torch.set_num_threads(1)


def save_instruct_pix2pix(folder: Path) -> Path:
    """A `StableDiffusionInstructPix2PixPipeline`."""
    from diffusers import StableDiffusionInstructPix2PixPipeline as Pipeline

    return _saved(Pipeline, folder, unet_in_channels=8)


def save_image_to_image(folder: Path) -> Path:
    """A `StableDiffusionImg2ImgPipeline`."""
    from diffusers import StableDiffusionImg2ImgPipeline as Pipeline

    return _saved(Pipeline, folder, unet_in_channels=4)


def save_flux_fill(folder: Path) -> Path:
    """A `FluxFillPipeline`."""
    from diffusers import FluxFillPipeline as Pipeline

    # Packed latents, packed masked latents, and the packed mask of the encoder's scale.
    return _saved_flux(Pipeline, folder, channels=4 * 4 + 4 * 4 + 8 * 8 * 4)


def save_flux_kontext(folder: Path) -> Path:
    """A `FluxKontextPipeline`."""
    from diffusers import FluxKontextPipeline as Pipeline

    return _saved_flux(Pipeline, folder, channels=4 * 4)


def _saved_flux(pipeline: Any, folder: Path, *, channels: int) -> Path:
    import torch
    from diffusers import FlowMatchEulerDiscreteScheduler, FluxTransformer2DModel

    torch.manual_seed(0)
    text, tokenizer = _clip(folder)
    text_2, tokenizer_2 = _t5()
    transformer = FluxTransformer2DModel(
        patch_size=1,
        in_channels=channels,
        out_channels=4 * 4,
        num_layers=1,
        num_single_layers=1,
        attention_head_dim=16,
        num_attention_heads=2,
        joint_attention_dim=32,
        pooled_projection_dim=32,
        axes_dims_rope=[4, 4, 8],
        guidance_embeds=True,
    )
    pipe = pipeline(
        scheduler=FlowMatchEulerDiscreteScheduler(),
        vae=_autoencoder(latents=4, shift=0.1),
        text_encoder=text,
        tokenizer=tokenizer,
        text_encoder_2=text_2,
        tokenizer_2=tokenizer_2,
        transformer=transformer,
    )
    pipe.save_pretrained(folder)
    return folder


def save_omnigen(folder: Path) -> Path:
    """An `OmniGenPipeline`."""
    import torch
    from diffusers import (
        FlowMatchEulerDiscreteScheduler,
        OmniGenPipeline,
        OmniGenTransformer2DModel,
    )

    torch.manual_seed(0)
    transformer = OmniGenTransformer2DModel(
        hidden_size=16,
        num_attention_heads=4,
        num_key_value_heads=4,
        intermediate_size=32,
        num_layers=1,
        in_channels=4,
        time_step_dim=4,
        rope_scaling={"long_factor": [1, 2], "short_factor": [1, 2]},
    )
    pipe = OmniGenPipeline(
        transformer=transformer,
        scheduler=FlowMatchEulerDiscreteScheduler(invert_sigmas=True, num_train_timesteps=1),
        vae=_autoencoder(latents=4),
        tokenizer=_t5()[1],
    )
    pipe.save_pretrained(folder)
    return folder


def save_flux_lora(folder: Path) -> Path:
    """A LoRA for the transformer of `save_flux_fill`, with weights that change what it paints."""
    import torch
    from diffusers import FluxFillPipeline

    folder.mkdir(parents=True, exist_ok=True)
    generator = torch.Generator().manual_seed(1)
    weights = {}
    for name in ("to_q", "to_k", "to_v"):
        layer = f"transformer_blocks.0.attn.{name}"
        weights[f"{layer}.lora_A.weight"] = torch.randn(4, 32, generator=generator)
        weights[f"{layer}.lora_B.weight"] = torch.randn(32, 4, generator=generator)
    FluxFillPipeline.save_lora_weights(folder, transformer_lora_layers=weights)
    return folder


def _saved(pipeline: Any, folder: Path, *, unet_in_channels: int) -> Path:
    import torch
    from diffusers import PNDMScheduler, UNet2DConditionModel
    from transformers import CLIPImageProcessor

    torch.manual_seed(0)
    text, tokenizer = _clip(folder)
    unet = UNet2DConditionModel(
        sample_size=8,
        in_channels=unet_in_channels,
        out_channels=4,
        block_out_channels=_CHANNELS,
        layers_per_block=1,
        norm_num_groups=4,
        cross_attention_dim=32,
        attention_head_dim=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )
    scheduler = PNDMScheduler(
        beta_start=0.00085,
        beta_end=0.012,
        beta_schedule="scaled_linear",
        skip_prk_steps=True,
        steps_offset=1,
    )
    pipe = pipeline(
        vae=_autoencoder(latents=4),
        text_encoder=text,
        tokenizer=tokenizer,
        unet=unet,
        scheduler=scheduler,
        safety_checker=None,
        feature_extractor=CLIPImageProcessor(size={"shortest_edge": 32}, crop_size=32),
        requires_safety_checker=False,
    )
    pipe.save_pretrained(folder)
    return folder


def _autoencoder(*, latents: int, shift: float | None = None) -> Any:
    """An encoder of four blocks, which scales down by 8 as the real ones do."""
    blocks = 4
    from diffusers import AutoencoderKL

    return AutoencoderKL(
        block_out_channels=(8,) * blocks,
        down_block_types=("DownEncoderBlock2D",) * blocks,
        up_block_types=("UpDecoderBlock2D",) * blocks,
        latent_channels=latents,
        norm_num_groups=4,
        layers_per_block=1,
        sample_size=32,
        shift_factor=shift,
        use_quant_conv=shift is None,
        use_post_quant_conv=shift is None,
    )


def _clip(folder: Path) -> tuple[Any, Any]:
    from transformers import CLIPTextConfig, CLIPTextModel, CLIPTokenizer

    # Single characters and their word-ending forms, with every byte standing for itself.
    letters = [*string.printable.strip(), *map(chr, range(161, 500))]
    tokens = [*letters, *(f"{letter}</w>" for letter in letters)]
    special = ["<|startoftext|>", "<|endoftext|>"]
    vocabulary = {token: number for number, token in enumerate([*tokens, *special])}
    files = folder / "vocabulary"
    files.mkdir(parents=True, exist_ok=True)
    (files / "vocab.json").write_text(json.dumps(vocabulary), encoding="utf-8")
    (files / "merges.txt").write_text("#version: 0.2\n", encoding="utf-8")
    tokenizer = CLIPTokenizer.from_pretrained(files, model_max_length=32)
    config = CLIPTextConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        intermediate_size=37,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=32,
        bos_token_id=vocabulary["<|startoftext|>"],
        eos_token_id=vocabulary["<|endoftext|>"],
        pad_token_id=vocabulary["<|endoftext|>"],
        projection_dim=32,
    )
    return CLIPTextModel(config).eval(), tokenizer


def _t5() -> tuple[Any, Any]:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, T5Config, T5EncoderModel

    words = ["<pad>", "</s>", "<unk>", *string.printable]
    model = models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>")
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=64,
    )
    config = T5Config(vocab_size=len(words), d_model=32, d_kv=8, d_ff=37, num_layers=1, num_heads=4)
    return T5EncoderModel(config).eval(), fast


def save_imagic(folder: Path) -> Path:
    """A community pipeline in a file, called as ``imagic_stable_diffusion`` is; see its text."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "pipeline.py"
    path.write_text(_IMAGIC, encoding="utf-8")
    return path


_IMAGIC = '''
"""Trains and edits through the interface of imagic_stable_diffusion, in a few small steps."""

import numpy as np
import torch
from types import SimpleNamespace

from diffusers import DiffusionPipeline


class TinyImagic(DiffusionPipeline):
    def __init__(
        self, vae, text_encoder, tokenizer, unet, scheduler, safety_checker, feature_extractor
    ):
        super().__init__()
        self.register_modules(
            vae=vae,
            text_encoder=text_encoder,
            tokenizer=tokenizer,
            unet=unet,
            scheduler=scheduler,
            safety_checker=safety_checker,
            feature_extractor=feature_extractor,
        )
        self.trained = 0

    def train(self, prompt, image, height=512, width=512, generator=None, steps=2, rate=0.01):
        if self.trained:
            raise AssertionError("trained twice: the weights are those of another sample")
        self.trained = 1
        if image.size != (width, height):
            raise AssertionError(f"the input is {image.size}")
        pixels = torch.from_numpy(np.asarray(image).copy()).permute(2, 0, 1)[None] / 127.5 - 1
        with torch.no_grad():
            self.latents = self.vae.encode(pixels).latent_dist.sample(generator) * 0.18215
            tokens = self.tokenizer(prompt, padding="max_length", truncation=True)["input_ids"]
            self.target = self.text_encoder(torch.tensor([tokens]))[0]
        self.embedding = self.target.clone().requires_grad_()
        for parameters in ([self.embedding], list(self.unet.parameters())):
            optimizer = torch.optim.Adam(parameters, lr=rate)
            for _ in range(steps):
                noise = torch.randn_like(self.latents)
                time = torch.randint(1000, (1,))
                noisy = self.scheduler.add_noise(self.latents, noise, time)
                found = self.unet(noisy, time, self.embedding).sample
                (found - noise).pow(2).mean().backward()
                optimizer.step()
                optimizer.zero_grad()

    @torch.no_grad()
    def __call__(
        self,
        alpha=1.2,
        height=512,
        width=512,
        num_inference_steps=50,
        generator=None,
        output_type="pil",
        guidance_scale=7.5,
    ):
        embedding = alpha * self.target + (1 - alpha) * self.embedding
        self.scheduler.set_timesteps(num_inference_steps)
        latents = torch.randn(self.latents.shape, generator=generator)
        for time in self.scheduler.timesteps:
            noise = self.unet(latents, time, embedding).sample
            latents = self.scheduler.step(noise, time, latents).prev_sample
        pixels = self.vae.decode(latents / 0.18215).sample
        pixels = (pixels / 2 + 0.5).clamp(0, 1).permute(0, 2, 3, 1).numpy()
        return SimpleNamespace(images=pixels, nsfw_content_detected=None)
'''
