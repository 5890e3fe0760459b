"""Cross-attention of real pipelines with tiny random weights, against the same computed by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from .tiny_pipelines import _autoencoder as autoencoder
from .tiny_pipelines import _clip as clip
from .tiny_pipelines import (
    quiet_torch,
    save_flux_kontext,
    save_image_to_image,
    save_instruct_pix2pix,
)

pytestmark = [
    pytest.mark.host,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]

PROMPT = "Cut polyp."
STEPS = 2


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    quiet_torch()
    folder = tmp_path_factory.mktemp("attention")
    save_instruct_pix2pix(folder / "pix2pix")
    save_image_to_image(folder / "img2img")
    save_flux_kontext(folder / "kontext")
    return folder


@pytest.fixture(scope="module")
def pix2pix(folder: Path) -> Any:
    from diffusers import StableDiffusionInstructPix2PixPipeline

    return quiet(StableDiffusionInstructPix2PixPipeline.from_pretrained(folder / "pix2pix"))


@pytest.fixture(scope="module")
def img2img(folder: Path) -> Any:
    from diffusers import StableDiffusionImg2ImgPipeline

    return quiet(StableDiffusionImg2ImgPipeline.from_pretrained(folder / "img2img"))


def quiet(pipe: Any) -> Any:
    pipe.set_progress_bar_config(disable=True)
    return pipe


def picture(size_wh: tuple[int, int] = (96, 64)) -> Image.Image:
    pixels = np.random.default_rng(0).integers(0, 256, (*size_wh[::-1], 3), dtype=np.uint8)
    return Image.fromarray(pixels)


def called(pipe: Any, prompt: str = PROMPT, **arguments: Any) -> np.ndarray:
    import torch

    given = {"guidance_scale": 7.5, "image": picture(), **arguments}
    if "Pix2Pix" in type(pipe).__name__:
        given.setdefault("image_guidance_scale", 1.6)
    else:
        given.setdefault("strength", 0.9)
        given.setdefault("num_inference_steps", 3)
    given.setdefault("num_inference_steps", STEPS)
    output = pipe(prompt, generator=torch.Generator().manual_seed(1), output_type="np", **given)
    return np.asarray(output.images)


def recorded(pipe: Any, prompt: str = PROMPT, **arguments: Any) -> tuple[Any, np.ndarray]:
    from medbench_vlmeval.models.attention_recording import recorded_attention

    with recorded_attention(pipe, prompt) as recording:
        image = called(pipe, prompt, **arguments)
    return recording, image


def by_hand(pipe: Any, copy: int, **arguments: Any) -> tuple[np.ndarray, int]:
    """Mean attention of one copy of the batch, in numpy from the inputs of to_q and to_k."""
    layers = {name: layer for name, layer in pipe.unet.named_modules() if name.endswith("attn2")}
    inputs: dict[str, list[list[np.ndarray]]] = {name: [[], []] for name in layers}

    def remember(name: str, which: int) -> Callable[..., None]:
        return lambda _module, args: inputs[name][which].append(args[0].numpy().copy())

    handles = []
    for name, layer in layers.items():
        handles.append(layer.to_q.register_forward_pre_hook(remember(name, 0)))
        handles.append(layer.to_k.register_forward_pre_hook(remember(name, 1)))
    called(pipe, **arguments)
    for handle in handles:
        handle.remove()
    maps = [
        one_map(layers[name], pixels[copy], words[copy])
        for name, (of_pixels, of_words) in inputs.items()
        for pixels, words in zip(of_pixels, of_words, strict=True)
    ]
    return np.mean(maps, axis=0), len(maps)


def one_map(layer: Any, pixels: np.ndarray, words: np.ndarray) -> np.ndarray:
    """Heads' mean of one layer at one step, each token's map at 64 × 64."""
    query = pixels @ layer.to_q.weight.detach().numpy().T
    key = words @ layer.to_k.weight.detach().numpy().T
    width = query.shape[1] // layer.heads
    heads = []
    for head in range(layer.heads):
        part = slice(head * width, (head + 1) * width)
        products = query[:, part] @ key[:, part].T / np.sqrt(width)
        exponents = np.exp(products - products.max(axis=1, keepdims=True))
        heads.append(exponents / exponents.sum(axis=1, keepdims=True))
    weights = np.mean(heads, axis=0)
    # pictures of 96 x 64 pixels: latents of 12 x 8, halved once where this U-Net attends
    grid = weights.reshape(4, 6, -1).astype(np.float32)
    return np.stack(
        [
            cv2.resize(grid[..., token], (64, 64), interpolation=cv2.INTER_LINEAR)
            for token in range(grid.shape[-1])
        ]
    )


def test_maps_are_those_computed_by_hand_for_the_part_with_words_and_picture(pix2pix: Any) -> None:
    recording, _ = recorded(pix2pix)
    expected, n_maps = by_hand(pix2pix, copy=0)
    maps = recording.maps()
    # one token a letter in this vocabulary, start and end
    assert maps.shape == (len(PROMPT.replace(" ", "")) + 2, 64, 64)
    assert maps.dtype == np.float32
    assert recording.averaged.n_maps == n_maps == recording.n_steps * 4
    np.testing.assert_allclose(maps, expected[: len(maps)], rtol=1e-4, atol=1e-6)
    other, _ = by_hand(pix2pix, copy=2)
    assert np.abs(maps - other[: len(maps)]).max() > 1e-3, "the copies would be told apart"
    assert recording.branch.checked


def test_image_to_image_has_the_words_last(img2img: Any) -> None:
    recording, _ = recorded(img2img)
    expected, _ = by_hand(img2img, copy=1)
    maps = recording.maps()
    np.testing.assert_allclose(maps, expected[: len(maps)], rtol=1e-4, atol=1e-6)
    assert recording.branch.checked


@pytest.mark.parametrize("name", ["pix2pix", "img2img"])
def test_without_guidance_there_is_one_part(name: str, request: pytest.FixtureRequest) -> None:
    pipe = request.getfixturevalue(name)
    recording, _ = recorded(pipe, guidance_scale=1.0)
    expected, _ = by_hand(pipe, copy=0, guidance_scale=1.0)
    maps = recording.maps()
    np.testing.assert_allclose(maps, expected[: len(maps)], rtol=1e-4, atol=1e-6)


def test_attention_of_all_tokens_adds_up_to_one(pix2pix: Any) -> None:
    prompt = "a" * 40  # fills what the text encoder reads
    recording, _ = recorded(pix2pix, prompt)
    np.testing.assert_allclose(recording.maps().sum(axis=0), 1.0, atol=1e-4)
    assert recording.truncated


def test_the_picture_is_the_same_with_and_without_recording(pix2pix: Any, img2img: Any) -> None:
    for pipe in (pix2pix, img2img):
        _, image = recorded(pipe)
        np.testing.assert_array_equal(image, called(pipe))


def hooks(pipe: Any) -> list[int]:
    modules = [*pipe.unet.modules(), *pipe.text_encoder.modules()]
    return [len(it._forward_hooks) + len(it._forward_pre_hooks) for it in modules]


def test_the_pipeline_is_left_as_it_was(pix2pix: Any) -> None:
    before, processors = hooks(pix2pix), dict(pix2pix.unet.attn_processors)
    recorded(pix2pix)
    assert hooks(pix2pix) == before
    now = pix2pix.unet.attn_processors
    assert now.keys() == processors.keys()
    assert all(now[name] is processors[name] for name in processors)


def test_an_exception_inside_leaves_the_pipeline_as_it_was(pix2pix: Any) -> None:
    from medbench_vlmeval.models.attention_recording import recorded_attention

    before = hooks(pix2pix)

    def broken(_module: Any, _args: Any) -> None:
        raise ZeroDivisionError

    handle = pix2pix.unet.up_blocks[0].register_forward_pre_hook(broken)
    try:
        with pytest.raises(ZeroDivisionError), recorded_attention(pix2pix, PROMPT):
            called(pix2pix)
    finally:
        handle.remove()
    assert hooks(pix2pix) == before


def test_nothing_recorded_is_no_map(pix2pix: Any) -> None:
    from medbench_vlmeval.models.attention_recording import recorded_attention

    with recorded_attention(pix2pix, PROMPT) as recording:
        pass
    with pytest.raises(ValueError, match="inside the block"):
        recording.maps()


@pytest.fixture(params=["sliced", "plain", "fused"])
def other_processors(pix2pix: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    from diffusers.models.attention_processor import AttnProcessor

    before = dict(pix2pix.unet.attn_processors)
    if request.param == "sliced":
        pix2pix.enable_attention_slicing(1)
    elif request.param == "plain":
        pix2pix.unet.set_attn_processor(AttnProcessor())
    else:
        pix2pix.unet.fuse_qkv_projections()
    yield pix2pix
    if request.param == "fused":
        pix2pix.unet.unfuse_qkv_projections()
    pix2pix.unet.set_attn_processor(before)


def test_the_kind_of_processor_does_not_matter(other_processors: Any, folder: Path) -> None:
    from diffusers import StableDiffusionInstructPix2PixPipeline

    recording, _ = recorded(other_processors)
    fresh = StableDiffusionInstructPix2PixPipeline.from_pretrained(folder / "pix2pix")
    expected, _ = recorded(quiet(fresh))
    np.testing.assert_allclose(recording.maps(), expected.maps(), rtol=1e-3, atol=1e-5)


def test_half_precision_is_computed_in_single(pix2pix: Any) -> None:
    import torch

    from medbench_vlmeval.models.attention_recording import attention_weights

    layer = next(it for name, it in pix2pix.unet.named_modules() if name.endswith("attn2"))
    generator = torch.Generator().manual_seed(0)
    pixels, words = (
        torch.randn(1, count, channels, generator=generator) * 3000
        for count, channels in ((24, layer.to_q.in_features), (5, layer.to_k.in_features))
    )
    try:
        layer.half()
        with torch.no_grad():
            weights = attention_weights(layer, pixels.half(), words.half())
    finally:
        layer.float()
    assert weights.dtype == torch.float32
    assert torch.isfinite(weights).all()
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))


def test_several_pictures_at_once_are_refused(img2img: Any, pix2pix: Any) -> None:
    from medbench_vlmeval.models.attention_branches import BranchUnknown

    before = called(pix2pix)
    with pytest.raises(BranchUnknown, match="in a batch of 6 of StableDiffusionInstructPix2Pix"):
        recorded(pix2pix, num_images_per_prompt=2)
    np.testing.assert_array_equal(called(pix2pix), before)
    with pytest.raises(BranchUnknown, match="one picture at a time"):
        recorded(img2img, num_images_per_prompt=2)
    with pytest.raises(BranchUnknown, match="one picture at a time"):
        recorded(img2img, num_images_per_prompt=2, guidance_scale=1.0)


def test_a_pipeline_nobody_looked_up_is_read_by_its_text_encoder(
    img2img: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from medbench_vlmeval.models import attention_branches

    expected = recorded(img2img)[0].maps()
    monkeypatch.setattr(attention_branches, "LOOKED_UP", frozenset())
    np.testing.assert_array_equal(recorded(img2img)[0].maps(), expected)


def test_a_wrong_table_is_noticed(img2img: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from medbench_vlmeval.models import attention_branches

    monkeypatch.setattr(attention_branches, "CONDITIONAL", {1: 0, 2: 0})
    with pytest.raises(attention_branches.BranchUnknown, match="place 1 by the table"):
        recorded(img2img)


def embedded(pipe: Any) -> dict[str, Any]:
    """Arguments that hand words over as states, so that the text encoder is not asked."""
    states = pipe.encode_prompt(PROMPT, "cpu", 1, True)
    return {"prompt_embeds": states[0], "negative_prompt_embeds": states[1]}


def test_without_sign_of_the_text_encoder_the_table_decides_and_says_so(
    img2img: Any, caplog: pytest.LogCaptureFixture
) -> None:
    from medbench_vlmeval.models.attention_recording import recorded_attention

    given = embedded(img2img)
    with recorded_attention(img2img, PROMPT) as recording:
        called(img2img, None, **given)
    assert "taken from a table (2 of 2)" in caplog.text
    assert not recording.branch.checked
    np.testing.assert_allclose(recording.maps(), recorded(img2img)[0].maps(), atol=1e-6)


def test_without_sign_and_table_there_is_no_number(
    img2img: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from medbench_vlmeval.models import attention_branches
    from medbench_vlmeval.models.attention_recording import recorded_attention

    given = embedded(img2img)
    monkeypatch.setattr(attention_branches, "LOOKED_UP", frozenset())
    with (
        pytest.raises(attention_branches.BranchUnknown, match="no place by the table"),
        recorded_attention(img2img, PROMPT),
    ):
        called(img2img, None, **given)


def test_a_transformer_has_no_cross_attention(folder: Path) -> None:
    from diffusers import FluxKontextPipeline

    from medbench_vlmeval.models.attention_recording import NoCrossAttention, recorded_attention

    pipe = FluxKontextPipeline.from_pretrained(folder / "kontext")
    with (
        pytest.raises(NoCrossAttention, match="model has no cross-attention maps"),
        recorded_attention(pipe, PROMPT),
    ):
        pytest.fail("nothing may be recorded")


@pytest.mark.parametrize(
    ("latent_hw", "n_pixels", "expected"),
    [((64, 64), 4096, (64, 64)), ((64, 48), 48, (8, 6)), ((35, 64), 9 * 16, (9, 16))],
    ids=["whole", "halved thrice", "odd, rounded up"],
)
def test_a_layer_has_the_latents_shape_halved(
    latent_hw: tuple[int, int], n_pixels: int, expected: tuple[int, int]
) -> None:
    from medbench_vlmeval.models.attention_recording import layer_size

    assert layer_size(latent_hw, n_pixels) == expected


def test_a_layer_of_another_shape_is_refused() -> None:
    from medbench_vlmeval.models.attention_recording import NoCrossAttention, layer_size

    with pytest.raises(NoCrossAttention, match="halved"):
        layer_size((64, 64), 1000)


def sdxl(folder: Path, pipeline: Any, *, unet_in_channels: int) -> Any:
    """A pipeline of SDXL, whose words come from two text encoders side by side."""
    import torch
    from diffusers import EulerDiscreteScheduler, UNet2DConditionModel
    from transformers import CLIPTextModelWithProjection

    torch.manual_seed(0)
    text, tokenizer = clip(folder)
    unet = UNet2DConditionModel(
        sample_size=8,
        in_channels=unet_in_channels,
        out_channels=4,
        block_out_channels=(8, 16),
        layers_per_block=1,
        norm_num_groups=4,
        cross_attention_dim=64,
        attention_head_dim=(2, 4),
        use_linear_projection=True,
        addition_embed_type="text_time",
        addition_time_embed_dim=8,
        projection_class_embeddings_input_dim=32 + 6 * 8,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
    )
    parts = {
        "vae": autoencoder(latents=4),
        "text_encoder": text,
        "text_encoder_2": CLIPTextModelWithProjection(text.config).eval(),
        "tokenizer": tokenizer,
        "tokenizer_2": tokenizer,
        "unet": unet,
        "scheduler": EulerDiscreteScheduler(
            beta_start=0.00085, beta_end=0.012, beta_schedule="scaled_linear"
        ),
    }
    return quiet(pipeline(**parts))


@pytest.mark.parametrize(
    ("name", "channels", "copy"), [("InstructPix2Pix", 8, 0), ("Img2Img", 4, 1)]
)
def test_pipelines_of_sdxl_are_read_in_their_own_order(
    tmp_path: Path, name: str, channels: int, copy: int
) -> None:
    import diffusers

    pipeline = getattr(diffusers, f"StableDiffusionXL{name}Pipeline")
    pipe = sdxl(tmp_path, pipeline, unet_in_channels=channels)
    size = {"height": 64, "width": 96} if channels == 8 else {}
    recording, image = recorded(pipe, **size)
    expected, n_maps = by_hand(pipe, copy=copy, **size)
    maps = recording.maps()
    np.testing.assert_allclose(maps, expected[: len(maps)], rtol=1e-4, atol=1e-6)
    assert recording.averaged.n_maps == n_maps
    assert recording.branch.checked, "the first encoder's states are part of the words"
    np.testing.assert_array_equal(image, called(pipe, **size))
