"""The key word of an instruction: the paper's examples, its tasks, and instructions of our pack."""

from __future__ import annotations

import json
from typing import Any

import pytest

from medbench_vlmeval.data.sample_recipes import RECIPES
from medbench_vlmeval.parsing.key_words import key_word, word_positions

from ..shared import shared_cases, shared_path

# Tasks of MedEBench with more than five samples, and prompts on its page.
TASKS = {
    "Reconstruct ear.": "ear",
    "Reconstruct auricle.": "auricle",
    "Reconstruct missing or injured eye.": "eye",
    "Reconstruct eyelid or lower eyelid skin.": "eyelid",
    "Create double eyelids.": "eyelids",
    "Remove eyelid styes (chalazion).": "styes",
    "Correct lower eyelid ectropion.": "eyelid",
    "Remove conjunctival nevus.": "nevus",
    "Remove eye bags.": "bags",
    "Remove eyelid xanthalasma.": "xanthalasma",
    "Reduce facial wrinkles.": "wrinkles",
    "Remove or revise facial scars.": "scars",
    "Reconstruct cheek or forehead skin.": "cheek",
    "Remove facial redness.": "redness",
    "Remove excess fat from neck.": "fat",
    "Lift neck and face by tightening skin.": "neck",
    "Remove facial acne, bumps, or cysts.": "acne",
    "Repair or reconstruct toenail.": "toenail",
    "Remove intestinal polyps or adenomas.": "polyps",
    "Make hair thicker.": "hair",
    "Make beard thicker.": "beard",
    "Make eyebrow thicker.": "eyebrow",
    "Complete missing finger or fingernail.": "finger",
    "Improve hand appearance by injectable filler.": "hand",
    "Reconstruct damaged lip or lip skin.": "lip",
    "Perform lip augmentation.": "lip",
    "Reconstruct or repair nose skin.": "skin",
    "Remove or fade scar on nose.": "scar",
    "Remove or beautify rhinophyma.": "rhinophyma",
    "Remove moles, nevi, or black marks.": "moles",
    "Reconstruct damaged skin or scalp.": "skin",
    "Remove varicose veins.": "veins",
    "Remove brown spots or pigmentation.": "spots",
    "Remove or fade scars.": "scars",
    "Remove black birthmarks to even skin tone.": "birthmarks",
    "Correct spine alignment.": "spine",
    "Fix fractures with screws or splints.": "fractures",
    "Remove wisdom teeth.": "teeth",
    "Remove stains, tartar, or plaque from teeth.": "stains",
    "Implant or add missing teeth.": "teeth",
    "Repair or restore damaged teeth.": "teeth",
    "Perform body liposuction and skin tightening.": "body",
    "Add or remove braces.": "braces",
    "Reduce gaps between teeth.": "gaps",
    "Match eye size and shape.": "eye",
    "Remove the diminutive polyp.": "polyp",
    "Remove the dental black stains.": "stains",
    "Remove the black dental stains.": "stains",
    "Fix damaged front teeth.": "teeth",
    "Reconstruct lower eyelid.": "eyelid",
    "Remove intestinal adenoma.": "adenoma",
}
PACK = (
    "haemorrhage", "exudates", "spot", "nevus", "haemorrhage", "shadow", "scars",
    "microaneurysm", "mark", "bubble", "half", "stain", "deposit", "lesion", "cyst",
)  # fmt: skip


@pytest.mark.parametrize(("instruction", "word"), TASKS.items(), ids=TASKS)
def test_the_head_noun_of_the_object_is_the_key_word(instruction: str, word: str) -> None:
    found = key_word(instruction)
    assert (found.word, found.rule) == (word, "object")


def test_the_tasks_here_are_those_of_the_paper() -> None:
    text = shared_path("data/medebench_tasks.json").read_text(encoding="utf-8")
    assert {task["task"] for task in json.loads(text)["listed_tasks"]} <= set(TASKS)


def test_the_rule_agrees_with_every_token_the_paper_names() -> None:
    text = shared_path("data/medebench_attention.json").read_text(encoding="utf-8")
    figure = json.loads(text)["figure6"]
    assert len(figure) == 6
    assert [key_word(it["prompt"]).word for it in figure] == [it["token"] for it in figure]


def test_the_instructions_of_the_sample_pack() -> None:
    assert tuple(key_word(it.instruction, organ=it.organ).word for it in RECIPES) == PACK


@pytest.mark.parametrize(
    ("instruction", "organ", "word", "rule"),
    [
        ("Please remove the polyp completely.", "", "polyp", "object"),
        ("REMOVE THE POLYP", "", "POLYP", "object"),
        ("Make the scar less visible", "", "scar", "object"),
        ("Heal cut on arm.", "", "cut", "object"),
        ("Reduce the belly.", "", "belly", "object"),
        ("Repair, restore or whiten teeth", "", "teeth", "object"),
        ("Using inpainting, remove the mole", "", "mole", "object"),
        ("Left ear, better", "Ears", "ear", "organ"),
        ("Whiter teeth!", "Teeth", "teeth", "organ"),
        ("One tooth less", "Teeth", "tooth", "organ"),
        ("The scar should vanish", "Skin", "vanish", "last word"),
        ("Beautify.", "Nose", "Beautify", "last word"),
        ("", "Nose", "", "none"),
        ("12 + 3", "Nose", "", "none"),
        ("去除息肉", "", "去除息肉", "last word"),
    ],
)
def test_other_sentences_fall_back_by_name(
    instruction: str, organ: str, word: str, rule: str
) -> None:
    found = key_word(instruction, organ=organ)
    assert (found.word, found.rule) == (word, rule)


CLIP = ("<|startoftext|>", "remove</w>", "the</w>", "pol", "yp</w>", ".</w>", "<|endoftext|>")


@pytest.mark.parametrize(
    ("tokens", "word", "positions"),
    [
        (CLIP, "polyp", (3, 4)),
        (CLIP, "Polyp", (3, 4)),
        (CLIP, "the polyp", (2, 3, 4)),
        (CLIP, "pol", ()),
        (CLIP, "yp", ()),
        (CLIP, "startoftext", ()),
        (CLIP, "cyst", ()),
        (CLIP, "", ()),
        ((*CLIP[:5], "and</w>", "pol", "yp</w>"), "polyp", (3, 4, 6, 7)),
        ((*CLIP[:4], "yp", "s</w>"), "polyp", ()),
        (("co", "tton</w>", "-</w>", "wool</w>"), "cotton-wool", (0, 1, 2, 3)),
        (("▁Remove", "▁pol", "yp", ".", "</s>"), "polyp", (1, 2)),
        (("▁Remove", "▁pol", "yp", "s"), "polyp", ()),
        (("Remove", "Ġtoe", "nail"), "toenail", (1, 2)),
        (("[CLS]", "pol", "##yp", ".", "[SEP]"), "polyp", (1, 2)),
        (("[CLS]", "pol", "##yp", "##s", "[SEP]"), "polyp", ()),
        ((), "polyp", ()),
    ],
)
def test_all_pieces_of_a_word_are_found_and_no_part_of_another(
    tokens: tuple[str, ...], word: str, positions: tuple[int, ...]
) -> None:
    assert word_positions(tokens, word) == positions


@pytest.mark.parametrize(
    "case", [it for it in shared_cases("attention.jsonl") if it.id in ("B91c", "absent")]
)
def test_pieces_of_the_key_are_averaged_and_the_start_is_not(case: dict[str, Any]) -> None:
    found = word_positions(case["tokens"], case["key"])
    assert list(found) == case["expected_token_positions"]
    assert (0 in found) is case["required"]["start_token_used"]
