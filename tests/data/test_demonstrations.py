"""Which solved samples are shown before a sample, and the words around them."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbench_vlmeval.data import MedEBenchSample
from medbench_vlmeval.data.checks import unreadable_problem
from medbench_vlmeval.data.demonstrations import (
    InContext,
    demonstrated_prompt,
    demonstrations,
    is_complete,
    split_prompt,
)
from medbench_vlmeval.files import sha256_bytes


def sample(number: int, **changes: Any) -> MedEBenchSample:
    fields: dict[str, Any] = {
        "id": number,
        "organ": "Teeth",
        "task": "Remove stains.",
        "instruction": f"Remove stain {number}.",
        "description": "",
        "previous": Path(f"/data/previous/{number}.png"),
        "reference": Path(f"/data/changed/{number}.png"),
        "roi": None,
        "sha256": {"previous": f"p{number}", "reference": f"r{number}"},
    }
    return MedEBenchSample(**(fields | changes))


hashes = st.sampled_from(["a", "b", "c", "d", "e", "f"])
any_samples = st.lists(
    st.tuples(hashes, hashes, st.sampled_from(["Remove stains.", "Add a crown."]), st.booleans()),
    min_size=1,
    max_size=12,
).map(
    lambda rows: [
        sample(
            number,
            task=task,
            sha256={"previous": previous, "reference": reference},
            **({} if whole else {"reference": None}),
        )
        for number, (previous, reference, task, whole) in enumerate(rows)
    ]
)


@given(any_samples, st.integers(0, 4), st.integers(0, 3))
def test_what_is_shown_never_gives_the_answer_away(
    samples: list[MedEBenchSample], shots: int, seed: int
) -> None:
    for asked in samples:
        own = set(asked.sha256.values())
        for shown in demonstrations(asked, samples, shots=shots, seed=seed):
            assert shown.id != asked.id
            assert shown.task == asked.task
            assert shown.previous is not None
            assert shown.reference is not None
            assert not own & set(shown.sha256.values())


@given(any_samples, st.integers(1, 4), st.randoms(use_true_random=False))
def test_the_choice_does_not_depend_on_the_order_of_the_samples(
    samples: list[MedEBenchSample], shots: int, order: random.Random
) -> None:
    mixed = order.sample(samples, len(samples))
    for asked in samples:
        shown = demonstrations(asked, samples, shots=shots)
        assert demonstrations(asked, mixed, shots=shots) == shown
        assert len({it.id for it in shown}) == len(shown)


@given(any_samples, st.integers(0, 3))
def test_fewer_shots_are_the_first_of_more(samples: list[MedEBenchSample], shots: int) -> None:
    for asked in samples:
        more = demonstrations(asked, samples, shots=shots + 1)
        assert demonstrations(asked, samples, shots=shots) == more[:shots]


@given(any_samples)
def test_all_that_may_be_shown_are_shown_before_any_is_lacking(
    samples: list[MedEBenchSample],
) -> None:
    for asked in samples:
        fitting = {
            it.id
            for it in samples
            if it.id != asked.id
            and it.task == asked.task
            and it.reference is not None
            and not set(it.sha256.values()) & set(asked.sha256.values())
        }
        assert {it.id for it in demonstrations(asked, samples, shots=99)} == fitting


def test_the_order_is_that_of_the_documented_hash() -> None:
    samples = [sample(number) for number in range(1, 9)]
    for seed in (0, 7):
        expected = sorted(range(2, 9), key=lambda it: sha256_bytes(f"{seed}|1|{it}".encode()))
        shown = demonstrations(samples[0], samples, shots=3, seed=seed)
        assert [it.id for it in shown] == expected[:3]


def test_another_seed_chooses_others() -> None:
    samples = [sample(number) for number in range(40)]
    chosen = {
        tuple(it.id for it in demonstrations(samples[0], samples, shots=3, seed=seed))
        for seed in range(5)
    }
    assert len(chosen) == 5


@pytest.mark.parametrize(
    "changes",
    [
        {"previous": None},
        {"reference": None},
        {"instruction": " "},
        {"sha256": {"previous": "p2"}},
        *(
            {"problems": (unreadable_problem(role, data),)}
            for role in ("previous", "reference")
            for data in (b"broken", b"version https://git-lfs.github.com/spec/v1")
        ),
    ],
    ids=str,
)
def test_a_sample_that_is_not_whole_is_not_shown(changes: dict[str, Any]) -> None:
    broken = sample(2, **changes)
    assert not is_complete(broken)
    assert demonstrations(sample(1), [broken, sample(3)], shots=2) == (sample(3),)


def test_a_problem_of_the_mask_does_not_matter() -> None:
    assert is_complete(sample(1, problems=("roi unreadable", "roi empty")))


@pytest.mark.parametrize("role", ["previous", "reference"])
@pytest.mark.parametrize("own", ["p1", "r1"])
def test_a_sample_that_shares_an_image_is_not_shown(role: str, own: str) -> None:
    other = sample(2, sha256={"previous": "p2", "reference": "r2"} | {role: own})
    assert demonstrations(sample(1), [other], shots=1) == ()


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(ValueError, match="shots >= 0"):
        demonstrations(sample(1), [], shots=-1)


def test_a_prompt_ends_with_the_image_to_edit_and_its_instruction() -> None:
    parts = demonstrated_prompt(sample(1), [sample(2), sample(3)], instruction="Remove stain 1.")
    assert parts[-2:] == [("image", "/data/previous/1.png"), ("text", "Remove stain 1.")]
    images = [value for kind, value in parts if kind == "image"]
    assert images[:-1] == [
        f"/data/{folder}/{number}.png" for number in (2, 3) for folder in ("previous", "changed")
    ]
    texts = [value for kind, value in parts if kind == "text"]
    assert "Example 2, instruction: Remove stain 3." in texts
    assert "/data/changed/1.png" not in images


def test_without_demonstrations_a_prompt_is_the_usual_one() -> None:
    assert demonstrated_prompt(sample(1), [], instruction="Go.") == [
        ("image", "/data/previous/1.png"),
        ("text", "Go."),
    ]


def test_a_prompt_of_samples_without_images_is_refused() -> None:
    with pytest.raises(ValueError, match="with an input image"):
        demonstrated_prompt(sample(1, previous=None), [], instruction="Go.")
    with pytest.raises(ValueError, match="with both images"):
        demonstrated_prompt(sample(1), [sample(2, reference=None)], instruction="Go.")


words = st.one_of(
    st.text(min_size=1),
    st.sampled_from(
        [
            "Image to edit:",
            "x\nImage to edit:\ny",
            "Example 1, after the edit:\nExample 2, before the edit:",
            "Example 1, before the edit:\nExample 1, instruction: z",
        ]
    ),
).filter(lambda text: bool(text.strip()))


@given(st.lists(words, min_size=1, max_size=3), words)
def test_the_instructions_are_found_again_whatever_they_say(shown: list[str], own: str) -> None:
    examples = [sample(number, instruction=it) for number, it in enumerate(shown, start=2)]
    parts = demonstrated_prompt(sample(1), examples, instruction=own)
    texts = [value.strip() for kind, value in parts if kind == "text"]
    n_images = sum(1 for kind, _ in parts if kind == "image")
    split = split_prompt("\n".join(texts).strip(), n_images)
    assert split == (tuple(" ".join(it.split()) for it in shown), own.strip())


@pytest.mark.parametrize(
    ("text", "n_images"),
    [
        ("Remove the polyp.", 1),
        ("Remove the polyp.", 3),
        ("Example 1, before the edit:\nRemove it.", 3),
        ("Example 1, before the edit:\nExample 1, instruction: a\nx\nImage to edit:\nb", 3),
        (
            "Example 1, before the edit:\nExample 1, instruction: a\nExample 1, after the edit:\n"
            "Image to edit:\nb",
            5,
        ),
        (
            "Example 1, before the edit:\nExample 1, instruction: a\nExample 1, after the edit:\n"
            "Image to edit:\nb",
            2,
        ),
        ("Example 1, before the edit:\nb\nExample 1, after the edit:\nImage to edit:\nc", 3),
        ("", 3),
    ],
)
def test_a_text_of_another_form_is_left_alone(text: str, n_images: int) -> None:
    assert split_prompt(text, n_images) is None


def test_the_facts_count_samples_by_what_they_were_shown() -> None:
    context = InContext(2, 0, {1: (2, 3), 2: (1,), 3: (), 4: (1, 2)})
    assert context.fewer() == [2, 3]
    facts = context.facts()
    assert facts["samples_by_shots"] == {2: 2, 1: 1, 0: 1}
    assert facts["demonstrations"]["4"] == (1, 2)
    assert facts["shots"] == 2


def test_the_generated_pack_has_something_to_show(tmp_path: Path) -> None:
    from medbench_vlmeval.data import load_medebench
    from medbench_vlmeval.data.demonstrations_pack import load_demonstration_pack

    pack = load_medebench("MedEBench_sample", tmp_path)
    solved = load_demonstration_pack(tmp_path)
    assert all(it.problems == () for it in solved.samples)
    shown = {
        it.id: [found.id for found in demonstrations(it, pack.samples + solved.samples, shots=3)]
        for it in pack.samples
    }
    assert sorted(number for ids in shown.values() for number in ids) == [
        it.id for it in solved.samples
    ]
    assert all(ids in ([], [100 + number]) for number, ids in shown.items())
    assert load_demonstration_pack(tmp_path) == solved
