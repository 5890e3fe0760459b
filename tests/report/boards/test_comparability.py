from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.report.boards.comparability import Comparison, compared
from medbench_vlmeval.report.runs import Run

from ...evaluation.medq_reasoning_cases import judge_script
from ...judging.server import JudgeServer
from ..made_runs import boxes, changed, choices, descriptions

HITS = [True, False, True, True, False, True, False, True]
JUDGE = {"model_requested": "gpt-4o-2024-05-13", "repeats": 1, "parameters": {"max_tokens": 400}}
EARLY, LATE = "2026-01-01T00:00:00+00:00", "2026-02-01T00:00:00+00:00"


def standing(comparison: Comparison) -> list[str]:
    return [it.run.model for it in comparison.standing]


def reason(comparison: Comparison) -> str:
    (left,) = comparison.left_out
    return left.reason


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Run]:
    """Makes runs that differ only in what their manifests say; the judge was really asked once."""
    folder = tmp_path_factory.mktemp("judged")
    with JudgeServer(judge_script({})) as server:
        made = descriptions(folder, "A", server)

    def copied(target: Path, model: str, **manifest: Any) -> Run:
        place = target / model
        place.mkdir(parents=True)
        for path in made.manifest_path.parent.iterdir():
            if path.is_file():
                (place / path.name.replace("A_", f"{model}_", 1)).write_bytes(path.read_bytes())
        return changed(Run.at(place), **manifest)

    return copied


def test_runs_under_the_same_conditions_stand_together(tmp_path: Path) -> None:
    found = compared([choices(tmp_path, model, HITS) for model in ("B", "A", "Baseline-X")])
    assert standing(found) == ["A", "B", "Baseline-X"]
    assert (found.left_out, found.older, found.judge) == ((), (), None)
    assert found.reference is not None


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ({"data": {"fingerprint": "0" * 64}}, "other data: fingerprint 000000000000, on the board"),
        ({"data": {"fingerprint": None}}, "other data: fingerprint not stated"),
        ({"data": {"revision": "other"}}, "other revision of the data: other, on the board main"),
        ({"asked": {"wording": {"host": None, "own": 8}}}, "asked in other words: ours, on the"),
        ({"asked": {"sha256": {"all": "x"}}}, "the questions have another hash"),
        ({"complete": False}, "the judge stopped before the end"),
        ({"data": {"n_samples": 50, "partial": True}}, "about 8 of 50 samples only"),
        ({"data": {"n_expected": 9}}, "has 8 rows for 9 samples"),
        ({"replies": {"missing": 1}}, "1 of 8 samples have no reply"),
        ({"replies": {"api_fail": 5}}, "5 of 8 samples have no reply"),
        ({"in_context": {"shots": 1, "demonstrations": {"1": [2]}}}, "other demonstrations"),
        ({"track": "rewrite"}, "another track: rewrite, on the board direct"),
        (
            {"metrics": [{"name": "accuracy", "label": "a", "higher_is_better": False}]},
            "accuracy is defined in another way",
        ),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_a_run_under_other_conditions_is_left_out_with_its_reason(
    tmp_path: Path, manifest: dict[str, Any], words: str
) -> None:
    common = {
        "data": {"revision": "main"},
        "asked": {"wording": {"host": 8}, "sha256": {"all": "h"}},
    }
    runs = [choices(tmp_path, model, HITS, **common) for model in ("A", "B")]
    odd = changed(choices(tmp_path, "Odd", HITS, **common), **manifest)
    found = compared([odd, *runs])
    assert standing(found) == ["A", "B"]
    assert found.left_out[0].run is odd
    assert words in reason(found)


def test_a_limited_run_has_other_samples(tmp_path: Path) -> None:
    whole = choices(tmp_path, "A", HITS)
    part = choices(tmp_path, "Part", HITS, expected=[1, 2])
    found = compared([whole, part])
    assert standing(found) == ["A"]
    assert "about 2 of 8 samples only; run it on all" in reason(found)
    like = compared([whole, part], like=part)
    assert standing(like) == ["Part"]
    assert "other samples: 8, of which 2 are among the 2 of the board" in reason(like)


def test_five_of_1182_answers_are_no_finished_run(tmp_path: Path) -> None:
    hits: list[bool | None] = [True] * 5 + [None] * 35
    found = compared([choices(tmp_path, "A", hits)])
    assert standing(found) == []
    assert "35 of 40 samples have no reply" in reason(found)
    assert "--reuse" in reason(found)
    assert standing(compared([choices(tmp_path, "A", hits)], least_coverage=0.1)) == ["A"]


def test_wrong_and_unreadable_replies_are_replies(tmp_path: Path) -> None:
    assert standing(compared([boxes(tmp_path, "A", [None] * 6)])) == ["A"]


def test_the_conventions_of_medsg_are_a_models_own(tmp_path: Path) -> None:
    runs = [
        boxes(tmp_path, "A", [0.0, 5.0], convention="absolute"),
        boxes(tmp_path, "B", [0.0, 5.0], convention="norm1000"),
    ]
    assert standing(compared(runs)) == ["A", "B"]


def test_what_is_not_recorded_is_no_difference(tmp_path: Path) -> None:
    asked = choices(tmp_path, "A", HITS, asked={"wording": {"host": 8}, "sha256": {"all": "h"}})
    scored_elsewhere = choices(tmp_path, "B", HITS)
    assert standing(compared([asked, scored_elsewhere])) == ["A", "B"]


def test_most_runs_set_the_conditions_and_like_overrules_them(tmp_path: Path) -> None:
    old = [choices(tmp_path, model, HITS) for model in ("A", "B")]
    new = choices(tmp_path, "C", HITS, data={"fingerprint": "0" * 64})
    assert standing(compared([*old, new])) == ["A", "B"]
    assert standing(compared([*old, new], like=new)) == ["C"]
    one_each = [changed(old[0], created=EARLY), changed(new, created=LATE)]
    assert standing(compared(one_each)) == ["C"]


def test_the_newest_run_of_a_model_stands_and_the_others_are_listed(tmp_path: Path) -> None:
    first = choices(tmp_path, "A", HITS, stamp="T1", created=EARLY)
    second = choices(tmp_path, "A", HITS[::-1], stamp="T2", created=LATE)
    found = compared([second, first])
    assert [it.run.created for it in found.standing] == [LATE]
    (older,) = found.older
    assert older.reason == f"older run of A: {EARLY}, the newest {LATE}"


def test_of_two_runs_of_one_second_the_one_with_the_later_stamp_stands(tmp_path: Path) -> None:
    runs = [choices(tmp_path, "A", HITS, stamp=stamp, created=LATE) for stamp in ("T1", "T2")]
    for given in (runs, runs[::-1]):
        (standing,) = compared(given).standing
        assert standing.run.manifest_path.parent.name == "T2"


def test_a_newer_run_that_is_not_complete_does_not_displace_a_complete_one(tmp_path: Path) -> None:
    first = choices(tmp_path, "A", HITS, stamp="T1", created=EARLY)
    second = choices(tmp_path, "A", HITS, stamp="T2", created=LATE, complete=False)
    found = compared([first, second])
    assert [it.run.created for it in found.standing] == [EARLY]
    assert "not complete" in reason(found)


def test_a_copy_is_called_a_copy(tmp_path: Path) -> None:
    run = choices(tmp_path, "A", HITS)
    copy = Run(run.manifest_path, run.manifest, "elsewhere")
    (older,) = compared([run, copy]).older
    assert "a copy of the run in" in older.reason


@pytest.mark.parametrize(
    ("judge", "words"),
    [
        ({"model_requested": "gpt-4o-2024-11-20"}, "judge model: gpt-4o-2024-11-20, on the board"),
        ({"weights_sha256": "1" * 64}, "weights of the judge"),
        ({"repeats": 3}, "judging rounds: 3, on the board 1"),
        ({"parameters": {"temperature": 1.0}}, "parameters of the judge"),
        ({"host_judge": "OpenAIWrapper"}, "judge object of VLMEvalKit: OpenAIWrapper"),
    ],
    ids=lambda it: it if isinstance(it, str) else "",
)
def test_verdicts_of_another_judge_are_blank_and_the_rest_stays(
    judged: Callable[..., Run], tmp_path: Path, judge: dict[str, Any], words: str
) -> None:
    runs = [judged(tmp_path, model, judge=JUDGE) for model in ("A", "B")]
    other = judged(tmp_path, "Other", judge={**JUDGE, **judge})
    found = compared([other, *runs])
    assert standing(found) == ["A", "B", "Other"]
    assert found.judge is not None
    assert found.judge.model == "gpt-4o-2024-05-13"
    assert [bool(it.why_unjudged) for it in found.standing] == [False, False, True]
    assert words in found.standing[2].why_unjudged


def test_other_questions_to_the_judge_are_another_judge(
    judged: Callable[..., Run], tmp_path: Path
) -> None:
    runs = [judged(tmp_path, model) for model in ("A", "B")]
    own = judged(tmp_path, "C", prompts={"medq_judge": {"origin": "own"}})
    assert "questions to the judge" in compared([*runs, own]).standing[2].why_unjudged
    noted = judged(tmp_path, "D", prompts={"medq_judge": {"note": "other words in the note"}})
    assert compared([*runs, noted]).standing[2].why_unjudged == ""


def test_the_judge_of_like_is_the_boards(judged: Callable[..., Run], tmp_path: Path) -> None:
    runs = [judged(tmp_path, model, judge=JUDGE) for model in ("A", "B")]
    other = judged(tmp_path, "C", judge={**JUDGE, "model_requested": "another"})
    found = compared([*runs, other], like=other)
    assert [bool(it.why_unjudged) for it in found.standing] == [True, True, False]


def test_the_judge_is_that_of_most_runs_whatever_the_newest_one_asked(
    judged: Callable[..., Run], tmp_path: Path
) -> None:
    runs = [judged(tmp_path, model, judge=JUDGE, created=EARLY) for model in ("A", "B")]
    newest = judged(tmp_path, "C", judge={**JUDGE, "model_requested": "new"}, created=LATE)
    found = compared([newest, *runs])
    assert found.judge is not None
    assert found.judge.model == JUDGE["model_requested"]


def test_another_snapshot_of_the_same_judge_is_noted_and_not_ranked(
    judged: Callable[..., Run], tmp_path: Path
) -> None:
    runs = [judged(tmp_path, m, judge={"models_returned": ["gpt-4o-2024-05-13"]}) for m in "AB"]
    later = judged(tmp_path, "C", judge={"models_returned": ["gpt-4o-2024-11-20"]})
    found = compared([*runs, later])
    assert [it.has_board_snapshot for it in found.standing] == [True, True, False]
    assert found.snapshots == ("gpt-4o-2024-05-13",)
    assert "gpt-4o-2024-11-20, on the board gpt-4o-2024-05-13" in found.standing[2].notes[0]
    assert found.standing[2].why_unjudged == ""


def test_a_judge_that_does_not_name_itself_is_no_other_snapshot(
    judged: Callable[..., Run], tmp_path: Path
) -> None:
    named = judged(tmp_path, "A", judge={"models_returned": ["gpt-4o-2024-05-13"]})
    silent = judged(tmp_path, "B", judge={"models_returned": []})
    found = compared([named, silent])
    assert [it.has_board_snapshot for it in found.standing] == [True, True]


def test_a_run_that_was_never_judged_says_so(judged: Callable[..., Run], tmp_path: Path) -> None:
    found = compared([judged(tmp_path, "A"), descriptions(tmp_path, "B", None)])
    assert standing(found) == ["A", "B"]
    assert found.standing[0].why_unjudged == ""
    assert "no judge is configured" in found.standing[1].why_unjudged


def test_other_addresses_and_prices_are_no_other_judge(
    judged: Callable[..., Run], tmp_path: Path
) -> None:
    here = judged(tmp_path, "A", judge={"endpoint": "http://one", "max_cost": 5, "spent": 1.0})
    there = judged(tmp_path, "B", judge={"endpoint": "http://two"})
    assert [it.why_unjudged for it in compared([here, there]).standing] == ["", ""]


def test_what_a_reader_should_know_is_noted(tmp_path: Path) -> None:
    run = boxes(tmp_path, "A", [0.0], takes_one_image_only=True, medbench_vlmeval="0.0.1")
    other = boxes(tmp_path, "B", [0.0], images={"notes": ["images were shrunk"]})
    found = compared([run, other])
    assert found.standing[0].notes == ("saw only the first image of each sequence",)
    assert found.standing[1].notes == ("images were shrunk",)
    assert "several versions of medbench-vlmeval: 0.0.1, " in found.notes[0]


@pytest.mark.parametrize("coverage", [-0.1, 1.1])
def test_a_coverage_is_a_share(tmp_path: Path, coverage: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        compared([choices(tmp_path, "A", HITS)], least_coverage=coverage)
