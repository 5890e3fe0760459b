"""What the doctor says, and that it says nothing it must keep to itself."""

from __future__ import annotations

import http.server
import importlib.metadata
import json
import os
import shutil
import sys
import threading
from collections import namedtuple
from collections.abc import Iterator
from pathlib import Path

import pytest

from medbench_vlmeval import doctor
from medbench_vlmeval.hosting import diagnosis, inventory
from medbench_vlmeval.hosting.diagnosis import Finding, Level
from medbench_vlmeval.hosting.probes import Host, find_host, host_at

from .environments import BASE_PYTHON, ROOT, Environment, clean_environ, run_python
from .fake_hosts import BROKEN, EAGER, TOY_PLUGIN, write_files

KEY = "sk-very-secret-7391"


def levels(findings: list[Finding]) -> list[str]:
    return [str(finding.level) for finding in findings]


def text(findings: list[Finding]) -> str:
    return "\n".join(f"{it.level} {it.what} -> {it.remedy}" for it in findings)


# what this interpreter is


def test_a_python_that_is_not_tested_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert levels(doctor.python_findings()) == ["ok"]
    monkeypatch.setattr(doctor.sys, "version_info", (3, 15, 0))
    assert levels(doctor.python_findings()) == ["note"]


def test_missing_start_up_files_lead_to_the_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(diagnosis, "site_folders", lambda: {str(tmp_path)})
    (finding,) = diagnosis.startup_findings({})
    assert finding.level is Level.WARNING
    assert "python -m medbench_vlmeval.run" in finding.remedy


def test_installed_start_up_files_are_found_and_the_opt_out_is_seen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "medbench_vlmeval.pth").touch()
    monkeypatch.setattr(diagnosis, "site_folders", lambda: {str(tmp_path)})
    assert str(tmp_path) in diagnosis.startup_findings({})[0].what
    opted_out = diagnosis.startup_findings({"MEDBENCH_VLMEVAL_DISABLE": "1"})
    assert levels(opted_out) == ["ok", "warning"]
    assert "unset it" in opted_out[1].remedy


# the host


def test_a_missing_host_is_a_problem() -> None:
    (finding,) = diagnosis.host_findings(None, import_host=True)
    assert finding.level is Level.PROBLEM
    assert 'pip install "medbench-vlmeval[host]"' in finding.remedy


def test_a_settings_file_beside_the_host_is_mentioned(tmp_path: Path) -> None:
    (tmp_path / ".env").write_text(f"OPENAI_API_KEY={KEY}\n", encoding="utf-8")
    said = text(diagnosis.host_findings(Host(tmp_path / "vlmeval"), import_host=False))
    assert f"{tmp_path / '.env'}; what it sets wins over your shell" in said
    assert KEY not in said


class Versions:
    """Stands in for `importlib.metadata` with these versions and requirements of torchvision."""

    PackageNotFoundError = importlib.metadata.PackageNotFoundError

    def __init__(self, versions: dict[str, str], requires: list[str] | None = None) -> None:
        self.versions, self._requires = versions, requires or []

    def version(self, name: str) -> str:
        if name not in self.versions:
            raise self.PackageNotFoundError(name)
        return self.versions[name]

    def requires(self, name: str) -> list[str]:
        return self._requires


@pytest.mark.parametrize(
    ("torch", "pin", "level"),
    [
        ("2.14.1", "torch==2.14.1", "ok"),
        ("2.14.1+cu130", "torch==2.14.1", "ok"),
        ("2.14.1", "torch (==2.14.1)", "ok"),
        ("2.13.0", "torch==2.14.1", "problem"),
        ("2.14.1", "torch>=2", "ok"),
    ],
)
def test_torch_and_torchvision_must_be_made_for_each_other(
    monkeypatch: pytest.MonkeyPatch, torch: str, pin: str, level: str
) -> None:
    versions = {"torch": torch, "torchvision": "0.29.1"}
    monkeypatch.setattr(diagnosis.importlib, "metadata", Versions(versions, ["numpy", pin]))
    assert levels(diagnosis.torch_findings()) == [level]


def test_an_absent_torchvision_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diagnosis.importlib, "metadata", Versions({"torch": "2.14.1"}))
    (finding,) = diagnosis.torch_findings()
    assert finding.level is Level.PROBLEM
    assert finding.what.startswith("torchvision is not installed")


@pytest.mark.parametrize(
    ("last_line", "remedy"),
    [
        ("ModuleNotFoundError: No module named 'rouge_score'", "pip install rouge_score"),
        ("ModuleNotFoundError: No module named 'absl.logging'", "pip install absl-py"),
        ("ModuleNotFoundError: No module named 'cv2'", "pip install opencv-python"),
        ("RuntimeError: operator torchvision::nms does not exist", "do not match"),
        ("ValueError: something else", "python -c 'import vlmeval'"),
        ("", "python -c 'import vlmeval'"),
    ],
)
def test_a_host_that_cannot_be_imported_leads_to_its_remedy(last_line: str, remedy: str) -> None:
    finding = diagnosis.import_failure(f"Traceback (most recent call last):\n{last_line}\n")
    assert finding.level is Level.PROBLEM
    assert remedy in finding.remedy


KNOWN = {
    "loaded_by_hook": True,
    "datasets": ["MedEBench_test"],
    "editors": ["Baseline-CopyInput"],
    "taken_over": [],
    "failures": [],
}


def test_a_complete_registration_is_fine() -> None:
    findings = diagnosis.registration_findings(KNOWN)
    assert levels(findings) == ["ok", "ok", "ok"]
    assert "1 datasets registered: MedEBench_test" in text(findings)


def test_no_dataset_at_all_is_a_problem() -> None:
    assert "problem" in levels(diagnosis.registration_findings({**KNOWN, "datasets": []}))


def test_failures_and_names_taken_over_are_listed() -> None:
    known = {
        **KNOWN,
        "loaded_by_hook": False,
        "taken_over": ["A_test"],
        "failures": ["module b: x"],
    }
    said = text(diagnosis.registration_findings(known))
    assert "warning VLMEvalKit does not load this package by itself" in said
    assert "note names of VLMEvalKit served by our classes: A_test" in said
    assert "warning not registered: module b: x" in said


def test_the_host_is_asked_in_a_process_of_its_own(installed: Environment, tmp_path: Path) -> None:
    write_files(tmp_path, {**EAGER, **TOY_PLUGIN, "run.py": ""})
    environ = clean_environ(PYTHONPATH=str(tmp_path))
    process = run_python(installed.python, "-m", inventory.__name__, environ=environ)
    (line,) = (it for it in process.stdout.splitlines() if it.startswith(inventory.MARK))
    said = json.loads(line.removeprefix(inventory.MARK))
    assert said["loaded_by_hook"] is False
    assert said["datasets"] == ["Toy_test"]
    assert said["editors"] == ["Toy-Editor"]


def test_the_error_of_a_broken_host_is_found(tmp_path: Path) -> None:
    write_files(tmp_path, BROKEN)
    findings = diagnosis.host_findings(host_at(tmp_path / "vlmeval"), import_host=True)
    assert "VLMEvalKit cannot be imported: RuntimeError: the host is broken" in text(findings)


def test_the_clone_one_stands_in_is_the_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(tmp_path, {**EAGER, "run.py": ""})
    monkeypatch.chdir(tmp_path)
    assert doctor.host_to_run({}).package == tmp_path / "vlmeval"
    other = write_files(tmp_path / "other", {**EAGER, "run.py": ""})
    for named in (other, other / "run.py"):
        host = doctor.host_to_run({"MEDBENCH_VLMEVALKIT": str(named)})
        assert host.package == other / "vlmeval"


# data


def test_an_unset_data_folder_is_noted(tmp_path: Path) -> None:
    findings = doctor.data_findings({}, tmp_path)
    assert levels(findings) == ["note", "note"]
    assert "medbench data prepare" in findings[1].remedy


def test_a_data_folder_that_does_not_exist_is_a_warning(tmp_path: Path) -> None:
    missing = tmp_path / "not here"
    environ = {"LMUData": str(missing)}
    finding = doctor.data_findings(environ, doctor.data_root(environ))[0]
    assert finding.level is Level.WARNING
    assert "silently uses ~/LMUData" in finding.what
    assert finding.remedy == f"mkdir -p '{missing}'"


def test_prepared_benchmarks_are_listed_with_size_and_revision(tmp_path: Path) -> None:
    whole = {"n_samples": 1182, "revision": "abc123"}
    write_files(
        tmp_path / "medbench",
        {
            "MedEBench_test/manifest.json": json.dumps(whole),
            "MedEBench_sample/manifest.json": json.dumps({"n_samples": 12, "revision": None}),
            "MedQ_dev/manifest.json": "{",
        },
    )
    findings = doctor.data_findings({"LMUData": str(tmp_path)}, tmp_path)
    assert [it.what for it in findings[:3]] == [
        f"data folder: {tmp_path}",
        "prepared: MedEBench_sample, 12 samples",
        "prepared: MedEBench_test, 1182 samples, revision abc123",
    ]
    assert findings[3].level is Level.WARNING
    assert findings[3].remedy == "prepare MedQ_dev again"


def test_a_full_disk_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: usage(10**10, 10**10, 10**8))
    (finding,) = doctor.space_findings(tmp_path / "made" / "later")
    assert finding.level is Level.WARNING
    assert finding.what == f"0.1 GB free at {tmp_path}"


# keys


def test_of_keys_only_their_presence_is_said() -> None:
    with_key = doctor.key_findings({"OPENAI_API_KEY": KEY})
    assert levels(with_key) == ["ok"]
    assert KEY not in text(with_key)
    assert levels(doctor.key_findings({})) == ["note"]


@pytest.mark.parametrize("key", [f"{KEY}\n", f" {KEY}", f"{KEY}\u200b"])
def test_a_key_that_cannot_be_one_is_a_warning_and_is_never_sent(judge: str, key: str) -> None:
    environ = {"OPENAI_API_KEY": key, "OPENAI_API_BASE": judge}
    findings = doctor.key_findings(environ)
    assert findings[0].level is Level.WARNING
    assert KEY not in text(findings)
    assert doctor.judge_findings(environ) == []


@pytest.mark.parametrize(
    ("base", "level"),
    [
        ("https://api.example.org/v1/chat/completions", "ok"),
        ("http://127.0.0.1:8000/v1/chat/completions/", "ok"),
        ("https://api.example.org/v1", "note"),
        ("api.example.org/v1", "warning"),
        (KEY, "warning"),
        (f"https://user:{KEY}@api.example.org/v1/chat/completions", "warning"),
        (f"https://[{KEY}", "warning"),
        (f"https://api.example.org:{KEY}/v1", "warning"),
    ],
)
def test_of_the_address_only_its_shape_is_said(base: str, level: str) -> None:
    finding = doctor.address_finding(base)
    assert str(finding.level) == level
    assert KEY not in text([finding])
    assert "example" not in text([finding])


class Judge(http.server.BaseHTTPRequestHandler):
    """Lists models for whoever has the key."""

    def do_GET(self) -> None:
        right = self.headers["Authorization"] == f"Bearer {KEY}" and self.path == "/v1/models"
        self.send_response(200 if right else 401)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Tests are quiet."""


@pytest.fixture
def judge() -> Iterator[str]:
    server = http.server.HTTPServer(("127.0.0.1", 0), Judge)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize("ending", ["", "/", "/chat/completions"])
def test_a_judge_that_answers_is_fine(judge: str, ending: str) -> None:
    environ = {"OPENAI_API_BASE": judge + ending, "OPENAI_API_KEY": KEY}
    assert levels(doctor.judge_findings(environ)) == ["ok"]


def test_a_judge_that_refuses_the_key_is_a_warning(judge: str) -> None:
    (finding,) = doctor.judge_findings({"OPENAI_API_BASE": judge, "OPENAI_API_KEY": "other"})
    assert finding.what == "the judge refuses the key (HTTP 401)"


def test_a_judge_that_is_not_there_is_a_warning() -> None:
    (finding,) = doctor.judge_findings({"OPENAI_API_BASE": "http://127.0.0.1:9/v1"})
    assert finding.level is Level.WARNING
    assert finding.what.startswith("the judge cannot be reached")


def test_no_request_goes_to_an_address_that_is_none() -> None:
    assert doctor.judge_findings({"OPENAI_API_BASE": KEY}) == []


# the whole


def test_optional_packages_name_their_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor.importlib.util, "find_spec", lambda name: None)
    findings = doctor.optional_findings()
    assert set(levels(findings)) == {"note"}
    assert 'pip install "medbench-vlmeval[fast]"' in text(findings)


def test_the_judge_is_asked_only_on_request(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr(doctor, "judge_findings", lambda environ: asked.append(environ) or [])
    doctor.diagnose(environ={}, import_host=False)
    assert asked == []
    doctor.diagnose(environ={}, import_host=False, ask_judge=True)
    assert asked == [{}]


def test_a_problem_makes_the_exit_status_one(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    findings = [Finding(Level.OK, "good"), Finding(Level.WARNING, "odd", "look")]
    monkeypatch.setattr(doctor, "diagnose", lambda **options: findings)
    assert doctor.main([]) == 0
    assert capsys.readouterr().out == "ok       good\nwarning  odd\n         -> look\n"
    findings.append(Finding(Level.PROBLEM, "bad"))
    assert doctor.main(["--json"]) == 1
    assert json.loads(capsys.readouterr().out)[2] == {
        "level": "problem",
        "what": "bad",
        "remedy": "",
    }


def test_the_doctor_runs_as_a_module_and_keeps_keys_to_itself(tmp_path: Path) -> None:
    environ = clean_environ(
        LMUData=str(tmp_path),
        OPENAI_API_KEY=KEY,
        OPENAI_API_BASE=f"https://x:{KEY}@h/v1",
        PYTHONPATH=str(ROOT),
    )
    command = ["-m", "medbench_vlmeval.doctor", "--quick"]
    process = run_python(sys.executable, *command, cwd=tmp_path, environ=environ)
    assert "OPENAI_API_KEY is set" in process.stdout
    assert f"data folder: {tmp_path}" in process.stdout
    assert KEY not in process.stdout + process.stderr
    assert process.stderr == ""


# which host it is


def test_a_plain_clone_is_known_by_its_commit(tmp_path: Path) -> None:
    write_files(tmp_path, {**EAGER, ".git/HEAD": "ref: refs/heads/main\n"})
    host = host_at(tmp_path / "vlmeval")
    assert (host.distribution, host.version, host.commit) == ("", "", "")
    packed = f"# pack-refs\n{'a' * 40} refs/heads/main\n"
    write_files(tmp_path, {".git/packed-refs": packed})
    assert host_at(tmp_path / "vlmeval").commit == "a" * 40
    write_files(tmp_path, {".git/refs/heads/main": "b" * 40 + "\n"})
    assert str(host_at(tmp_path / "vlmeval")) == f"clone of VLMEvalKit at commit {'b' * 12}"
    write_files(tmp_path, {".git/HEAD": "c" * 40 + "\n"})
    assert host_at(tmp_path / "vlmeval").commit == "c" * 40


def test_a_linked_work_tree_is_known_by_its_commit(tmp_path: Path) -> None:
    tree = write_files(tmp_path / "tree", {**EAGER, ".git": f"gitdir: {tmp_path}/main/worktrees/t"})
    write_files(
        tmp_path / "main",
        {
            "worktrees/t/HEAD": "ref: refs/heads/side\n",
            "worktrees/t/commondir": "../..\n",
            "refs/heads/side": "d" * 40 + "\n",
        },
    )
    assert host_at(tree / "vlmeval").commit == "d" * 40


@pytest.mark.parametrize("editable", [True, False])
def test_an_installed_host_is_known_by_its_distribution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, editable: bool
) -> None:
    site = tmp_path / "site"
    location = tmp_path / "clone" if editable else site
    files = {"nvidia_vlmeval-26.3.dist-info/METADATA": "Name: nvidia-vlmeval\nVersion: 26.3\n"}
    if editable:
        address = json.dumps({"url": location.as_uri(), "dir_info": {"editable": True}})
        files["nvidia_vlmeval-26.3.dist-info/direct_url.json"] = address
    write_files(site, files)
    write_files(location, EAGER)
    monkeypatch.syspath_prepend(site)
    host = host_at(location / "vlmeval")
    assert (host.distribution, host.version) == ("nvidia-vlmeval", "26.3")
    assert str(host) == "nvidia-vlmeval 26.3"


def test_features_are_read_from_the_files(tmp_path: Path) -> None:
    run = "parser.add_argument('--data-config')\nparser.add_argument(\"--limit\")\n"
    write_files(tmp_path, {**EAGER, "run.py": run, "vlmeval/inference_api.py": ""})
    features = host_at(tmp_path / "vlmeval").features
    assert {name for name, present in features.items() if present} == {
        "api_mode",
        "data_config",
        "limit",
    }


def test_a_folder_called_like_the_host_is_none(tmp_path: Path) -> None:
    write_files(tmp_path, {"vlmeval/__init__.py": ""})
    assert host_at(tmp_path / "vlmeval") is None


def test_looking_for_the_host_does_not_import_it(tmp_path: Path) -> None:
    write_files(tmp_path, EAGER)
    code = (
        "import sys; from medbench_vlmeval.hosting.probes import find_host; "
        "print(find_host().package, 'vlmeval' in sys.modules)"
    )
    environ = clean_environ(PYTHONPATH=os.pathsep.join([str(tmp_path), str(ROOT)]))
    process = run_python(BASE_PYTHON, "-c", code, environ=environ)
    assert process.stdout.strip() == f"{tmp_path / 'vlmeval'} False"


def test_no_host_at_all_is_none() -> None:
    assert find_host() is None or find_host().package.name == "vlmeval"
