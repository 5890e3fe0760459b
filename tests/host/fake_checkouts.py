"""Workers and checkouts for tests of the bridge: obedient, broken, and shaped like real ones."""

from __future__ import annotations

import textwrap
from pathlib import Path

OBEDIENT = """
import os, signal, subprocess, sys, time
from pathlib import Path
from PIL import Image, ImageOps
import protocol

settings = protocol.start_settings()
here = Path(settings.get("notes") or os.path.dirname(os.path.abspath(__file__)))
print("loading", "weights", end="")
print('{"loss": 0.5}')
print("noise without a line break", end="")


def note(name, text):
    with (here / name).open("a") as stream:
        stream.write(text + "\\n")


def edit(image, instruction, seed, settings):
    note("edits", instruction)
    print("a line on stdout while editing", instruction)
    time.sleep(settings.get("sleep", 0))
    if instruction == "die":
        sys.stderr.write("out of memory, token %s\\n" % os.environ.get("HF_TOKEN", ""))
        os.kill(os.getpid(), signal.SIGKILL)
    if instruction == "hang":
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        note("children", str(child.pid))
        time.sleep(600)
    if instruction == "raise":
        raise RuntimeError("CUDA out of memory")
    if instruction == "refuse":
        raise protocol.Refused("I will not edit this.")
    if instruction == "none":
        return None
    if instruction == "path":
        return image
    if instruction == "words":
        return 7
    with Image.open(image) as opened:
        return ImageOps.invert(opened.convert("RGB"))


def several(requests):
    note("batches", str(len(requests)))
    results = []
    for request in requests:
        try:
            asked = request["image"], request["instruction"], request["seed"]
            results.append(edit(*asked, settings))
        except Exception as error:
            results.append(error)
    return results


note("starts", str(os.getpid()))
note("environ", repr(dict(os.environ)))
note("cwd", os.getcwd())
batch = several if settings.get("batching") else None
protocol.serve(edit, name="Obedient", version="1.2", batch=batch, about={"weights": "none"})
"""
"""A worker that does as the instruction says, and notes what it does."""

RAW = """
import json, os, shutil, sys
from pathlib import Path

with open(os.path.join(os.path.dirname(__file__), "starts"), "a") as stream:
    stream.write("start\\n")


def say(**message):
    sys.stdout.write(json.dumps(message) + "\\n")
    sys.stdout.flush()


def copy(request):
    shutil.copyfile(request["image"], request["output"])


def requests():
    for line in sys.stdin:
        yield json.loads(line)

"""
"""Start of a worker that speaks the protocol by hand, and so can break it."""


def write_worker(folder: Path, source: str = OBEDIENT, name: str = "worker.py") -> Path:
    """A worker's program in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(source, encoding="utf-8")
    return path


def write_raw_worker(folder: Path, body: str) -> Path:
    """A worker that says and answers what `body` makes it."""
    return write_worker(folder, RAW + textwrap.dedent(body))


def write_files(folder: Path, files: dict[str, str]) -> Path:
    """Sources by their relative paths."""
    for name, source in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source), encoding="utf-8")
    return folder


def write_seedx(folder: Path) -> Path:
    """A checkout with the modules and files of SEED-X that its worker uses, and a toy behind them.

    The toy draws the inverted picture in the size it is asked for, or nothing when the instruction
    says so. It checks what the real modules need: as many marked tokens as there are embeddings.
    """
    configs = (
        "tokenizer/clm_llama_tokenizer_224loc_anyres",
        "processer/qwen_448_transform",
        "visual_encoder/qwen_vitg_448",
        "clm_models/llm_seed_x_edit",
        "clm_models/agent_seed_x_edit",
        "sdxl_adapter/sdxl_qwen_vit_resampler_l4_q64_full_with_latent_image_pretrain_no_normalize",
    )
    named = {f"configs/{name}.yaml": f"part: {name.split('/')[0]}_{name}\n" for name in configs}
    return write_files(folder, {**SEEDX_MODULES, **named})


SEEDX_MODULES = {
    "omegaconf.py": """
        class OmegaConf:
            @staticmethod
            def load(path):
                return open(path).read().split()[1]
        """,
    "hydra/__init__.py": "",
    "hydra/utils.py": """
        import toy

        def instantiate(part, **arguments):
            return toy.PARTS[part.split("/")[-1]](**arguments)
        """,
    "diffusers.py": """
        class _Part:
            @classmethod
            def from_pretrained(cls, folder, subfolder):
                assert folder == "pretrained/stable-diffusion-xl-base-1.0", folder
                return cls()

            def to(self, device, dtype):
                return self

        class AutoencoderKL(_Part): pass
        class EulerDiscreteScheduler(_Part): pass
        class UNet2DConditionModel(_Part): pass
        """,
    "src/inference/any_res.py": """
        import torch

        def process_anyres_image(image, transform, grids, base):
            assert grids == [[448, 448]] and base == 448
            views = torch.stack([transform(image.resize((base, base)))] * 2)
            return views, torch.tensor([[0.5, 0.5], [0.5, 0.5]])
        """,
    "toy.py": """
        import re
        import torch
        from PIL import ImageOps

        class Module:
            def __init__(self, **arguments):
                self.arguments = arguments
            def eval(self):
                return self
            def to(self, device, dtype):
                assert dtype is torch.float16
                return self

        class Tokenizer:
            bos_token_id = 1
            words = {"</s>": 0, "<s>": 1}
            def encode(self, text, add_special_tokens):
                assert add_special_tokens is False
                pieces = re.findall(r"<[^>]*>|[^<]", text)
                return [self.words.setdefault(piece, len(self.words)) for piece in pieces]

        class VisualEncoder(Module):
            def __call__(self, views):
                assert views.shape == (2, 3, 448, 448) and views.dtype is torch.float16
                return torch.zeros(2, 256, 8)

        class Agent(Module):
            def generate(self, tokenizer, input_ids, image_embeds, embeds_cmp_mask,
                         patch_positions, ids_cmp_mask, max_new_tokens, num_img_gen_tokens, device):
                assert embeds_cmp_mask.dtype is ids_cmp_mask.dtype is torch.bool
                assert input_ids.shape == ids_cmp_mask.shape and input_ids[0, 0] == 1
                assert int(ids_cmp_mask.sum()) == int(embeds_cmp_mask.sum()) * 64
                names = {number: piece for piece, number in tokenizer.words.items()}
                marked = [names[int(number)] for number in input_ids[ids_cmp_mask]]
                assert marked == [f"<img_{number:05d}>" for number in range(64)] * 2
                words = "".join(names[int(number)] for number in input_ids[0])
                words = re.sub("<[^>]*>", "", words)
                assert words.startswith("[INST] ") and words.endswith(" [/INST]\\n"), words
                assert (max_new_tokens, num_img_gen_tokens) == (512, 64)
                drawn = "describe" not in words
                return {"text": "a <img>polyp</s>", "has_img_output": drawn, "img_gen_feat": "f"}

        class Adapter(Module):
            def init_pipe(self, vae, scheduler, visual_encoder, image_transform, dtype, device):
                assert dtype is torch.float16
            def generate(self, image_embeds, latent_image, num_inference_steps, guidance_scale,
                         seed):
                assert (image_embeds, num_inference_steps, guidance_scale) == ("f", 50, 7.5)
                print("drawing with seed", seed)
                return [ImageOps.invert(latent_image)]

        PARTS = {
            "clm_llama_tokenizer_224loc_anyres": Tokenizer,
            "qwen_448_transform": lambda: lambda image: torch.zeros(3, *image.size),
            "qwen_vitg_448": VisualEncoder,
            "llm_seed_x_edit": Module,
            "agent_seed_x_edit": Agent,
            "sdxl_qwen_vit_resampler_l4_q64_full_with_latent_image_pretrain_no_normalize": Adapter,
        }
        """,
}


def write_instruct_diffusion(folder: Path) -> Path:
    """A checkout with what the worker uses of InstructDiffusion; the toy's picture is the input."""
    return write_files(folder, INSTRUCT_DIFFUSION_MODULES)


INSTRUCT_DIFFUSION_MODULES = {
    "configs/instruct_diffusion.yaml": "model: toy\n",
    "stable_diffusion/ldm/__init__.py": "",
    "omegaconf.py": """
        class OmegaConf:
            @staticmethod
            def load(path):
                return open(path).read().strip()
        """,
    "k_diffusion/__init__.py": "from . import external, sampling\n",
    "k_diffusion/external.py": """
        import torch

        class CompVisDenoiser:
            def __init__(self, model):
                self.model = model
            def get_sigmas(self, steps):
                return torch.linspace(10, 0, steps + 1)
        """,
    "k_diffusion/sampling.py": """
        import torch

        def sample_euler_ancestral(guided, noise, sigmas, extra_args):
            again = torch.Generator().manual_seed(torch.initial_seed())
            assert torch.equal(noise, torch.randn(noise.shape, generator=again) * 10)
            assert len(sigmas) == 51 and noise.shape[1] == 3
            scales = extra_args["text_cfg_scale"], extra_args["image_cfg_scale"]
            assert scales == (5.0, 1.25)
            assert not extra_args["uncond"]["c_concat"][0].any()
            assert extra_args["uncond"]["c_crossattn"] == [("words", "")]
            print("steps", len(sigmas) - 1, extra_args["cond"]["c_crossattn"], noise.shape)
            return extra_args["cond"]["c_concat"][0]
        """,
    "edit_cli.py": """
        import ldm

        class CFGDenoiser:
            def __init__(self, model):
                self.inner_model = model

        class Posterior:
            def __init__(self, values):
                self.values = values
            def mode(self):
                return self.values

        class Model:
            def eval(self):
                return self
            def to(self, device):
                return self
            def get_learned_conditioning(self, texts):
                return ("words", *texts)
            def encode_first_stage(self, values):
                assert values.min() >= -1 and values.max() <= 1
                return Posterior(values.contiguous())
            def decode_first_stage(self, latent):
                return latent

        def load_model_from_config(config, checkpoint, vae_checkpoint):
            assert config == "model: toy"
            assert checkpoint == "checkpoints/v1-5-pruned-emaonly-adaption-task.ckpt"
            print("loading", checkpoint)
            return Model()
        """,
}
