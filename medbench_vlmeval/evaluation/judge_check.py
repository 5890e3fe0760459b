"""Is this judge reliable? From a plan of questions to numbers, a page, and lines to trace both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..files import write_json_atomic, write_jsonl_atomic, write_text_atomic
from ..judging import Estimate, Judge, JudgeSettings, JudgeStopped
from ..metrics.reliability import krippendorff
from .judge_check_asking import FIRST, Answers, asked, estimates, second_of
from .judge_check_findings import Findings, findings
from .judge_check_page import markdown
from .judge_check_plan import AS_SCORED, CheckOptions, CheckPlan
from .judge_check_sections import Section, sections, title_of
from .judge_check_warnings import warnings
from .judge_check_words import verdict_lines
from .run_files import RunFiles, base_manifest

STEM = "judge_check"


@dataclass(frozen=True)
class CheckFiles:
    """What a check writes."""

    folder: Path

    @property
    def run(self) -> RunFiles:
        """Names the log of replies, ``judge_check_judge.jsonl``."""
        return RunFiles(self.folder / STEM)

    @property
    def judgements(self) -> Path:
        """One JSON line a judgement."""
        return self.run.beside(".jsonl")

    @property
    def result(self) -> Path:
        return self.run.beside(".json")

    @property
    def page(self) -> Path:
        return self.run.beside(".md")

    @property
    def html(self) -> Path:
        """The same page, for whoever writes it."""
        return self.run.beside(".html")

    @property
    def pictures(self) -> Path:
        """Folder of the pictures that were made."""
        return self.run.beside("_images")


@dataclass(frozen=True)
class CheckResult:
    """What was found, and why the judge stopped, if so."""

    findings: Findings
    lines: tuple[str, ...]
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    title: str
    sections: tuple[Section, ...]
    """Of the page, for who shows it in another form."""
    files: CheckFiles
    n_calls: int
    stopped: JudgeStopped | None = None


def estimated_check(
    plan: CheckPlan, settings: JudgeSettings, second: JudgeSettings | None = None
) -> dict[str, Estimate]:
    """What `check_judge` would ask and cost, by judge; nobody is called.

    Raises:
        ValueError: the second judge is the first one.
    """
    settings = replace(settings, repeats=1)
    return estimates(plan, settings, None if second is None else second_of(settings, second))


def check_judge(
    plan: CheckPlan,
    settings: JudgeSettings,
    folder: Path,
    *,
    second: JudgeSettings | None = None,
    options: CheckOptions,
) -> CheckResult:
    """Ask the questions of `plan` and say what the answers tell about the judge.

    Args:
        plan: the questions, see `medebench_plan` and `medq_plan`.
        settings: the judge. Its cache makes a killed check go on, and its ceiling on cost holds for
            both judges together.
        folder: where the files of `CheckFiles` go.
        second: another judge, asked about the same work.
        options: as `plan` was made with.

    Returns:
        The findings. `stopped` says why not all was asked; what was found till then is written.

    Raises:
        ImportError: krippendorff is not installed; nothing was asked.
        JudgeStopped: the judge answered nothing at all.
        ValueError: the second judge is the first one, a ceiling on cost for a judge of unknown
            price, or a ceiling on calls too low for one sample.
    """
    krippendorff()  # before anything is paid for
    judge = Judge(replace(settings, repeats=1))
    other = None if second is None else second_of(judge.settings, second)
    files = CheckFiles(folder)
    answers, second_judge = asked(plan, judge, other, files.run, max_calls=options.max_calls)
    if answers.stopped is not None and not any(it.values for it in answers.judgements):
        raise answers.stopped
    facts = _facts(plan, options, answers, judge, second_judge)
    return _written(plan, answers, files, facts, options)


def _facts(
    plan: CheckPlan, options: CheckOptions, answers: Answers, judge: Judge, second: Judge | None
) -> dict[str, Any]:
    """Who judged what and how, for the record and for the page."""
    return {
        "benchmark": plan.benchmark,
        "samples": list(dict.fromkeys(it.probe.sample for it in answers.judgements)),
        "n_chosen": len(plan.groups),
        **plan.facts,
        "options": asdict(options),
        "judge": judge.manifest(),
        "second_judge": None if second is None else second.manifest(),
        "n_calls": answers.n_calls,
        "n_known_before": _n_known_before(answers),
        "complete": answers.stopped is None and not answers.left_out,
        "stopped": _why(answers),
        "notes": plan.notes,
    }


def _n_known_before(answers: Answers) -> int:
    return sum(
        it.verdict.cached and (it.judge, it.probe.kind) == (FIRST, AS_SCORED)
        for it in answers.judgements
    )


def _why(answers: Answers) -> str:
    if answers.stopped is not None:
        return answers.stopped.reason
    if answers.left_out:
        return f"the ceiling on calls left no room for {' and '.join(answers.left_out)}"
    return ""


def _written(
    plan: CheckPlan,
    answers: Answers,
    files: CheckFiles,
    facts: Mapping[str, Any],
    options: CheckOptions,
) -> CheckResult:
    found = findings(plan, answers.judgements)
    second = facts["second_judge"]
    name = "" if second is None else str(second["model_requested"])
    lines = verdict_lines(found, plan, name)
    warned = [*_of_models(facts), *warnings(found, plan, options.limits, name)]
    write_jsonl_atomic(files.judgements, (it.record() for it in answers.judgements))
    manifest = base_manifest(files.judgements)
    manifest["judgements"] = manifest.pop("predictions")
    write_json_atomic(
        files.result, {**manifest, **facts, "found": found, "lines": lines, "warnings": warned}
    )
    title, parts = title_of(plan.benchmark, facts), sections(found, lines, warned, facts)
    write_text_atomic(files.page, markdown(title, parts))
    return CheckResult(
        found,
        tuple(lines),
        tuple(warned),
        plan.notes,
        title,
        tuple(parts),
        files,
        answers.n_calls,
        answers.stopped,
    )


def _of_models(facts: Mapping[str, Any]) -> list[str]:
    judges = [judge for judge in (facts["judge"], facts["second_judge"]) if judge is not None]
    return [
        f"several models answered as {judge['model_requested']}: "
        f"{', '.join(judge['models_returned'])}"
        for judge in judges
        if len(judge["models_returned"]) > 1
    ]
