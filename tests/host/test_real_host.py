"""The hook inside the real VLMEvalKit, installed from our wheel.

The host is the one of the test environment: its packages are lent to a new environment that holds
our wheel, so that what is tested is what is installed. One process answers most questions, because
importing the host takes seconds.
"""

from __future__ import annotations

import importlib.util
import json
import os
import sysconfig
from pathlib import Path
from typing import Any

import pytest

from .environments import Environment, clean_environ, create_environment, run_python
from .fake_hosts import write_files
from .running import Host, upstream_clone

pytestmark = pytest.mark.host

TOY = {
    # Whoever imports the package first, e.g. by unpickling, lets the host finish before.
    "toy_plugin/__init__.py": "import vlmeval",
    "toy_plugin/questions.py": """
        import pandas as pd
        from vlmeval.dataset.image_base import ImageBaseDataset
        from vlmeval.smp import dump, load
        from vlmeval.vlm.base import BaseModel

        from medbench_vlmeval.registry import register_dataset, register_editor


        @register_dataset
        class ToyQuestions(ImageBaseDataset):
            TYPE = "TOY"

            @classmethod
            def supported_datasets(cls):
                return ["ToyQuestions_test"]

            def load_data(self, dataset):
                return pd.DataFrame({"index": [1, 2, 3], "question": ["a", "b", "c"]})

            def build_prompt(self, line):
                return [{"type": "text", "value": "Question: " + line["question"]}]

            def evaluate(self, eval_file, **judge_kwargs):
                return {"rows": len(load(eval_file))}


        @register_editor("Toy-Model", reply="fine")
        class ToyModel(BaseModel):
            def __init__(self, *, name, reply):
                super().__init__()
                self.reply = f"{name} says {reply}"

            def generate_inner(self, message, dataset=None):
                return self.reply
    """,
    "toy_plugin-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: toy-plugin\nVersion: 1.0\n",
    "toy_plugin-1.0.dist-info/entry_points.txt": (
        "[medbench_vlmeval.plugins]\ntoy = toy_plugin.questions\n"
    ),
}

QUESTIONS = '''
"""Answers in one line of JSON: what the real host looks like with the hook in place."""
import importlib.resources, importlib.util, inspect, json, multiprocessing, os, sys

NAME, MODEL = "ToyQuestions_test", "Toy-Model"


def armed():
    return sum(type(it).__name__ == "HostFinder" for it in sys.meta_path)


def registered():
    """How often the toy dataset and its class are known, whether the model is, and our classes."""
    import vlmeval.config, vlmeval.dataset
    names = [cls.__name__ for cls in vlmeval.dataset.DATASET_CLASSES]
    return [
        vlmeval.dataset.SUPPORTED_DATASETS.count(NAME),
        names.count("ToyQuestions"),
        MODEL in vlmeval.config.supported_VLM,
        sorted(
            cls.__name__
            for cls in vlmeval.dataset.DATASET_CLASSES
            if cls.__module__.startswith("medbench_vlmeval.")
        ),
    ]


def ask_child(queue, dataset):
    queue.put([armed(), registered(), len(dataset)])


def start_child(method, dataset):
    context = multiprocessing.get_context(method)
    queue = context.SimpleQueue()
    child = context.Process(target=ask_child, args=(queue, dataset))
    child.start()
    return child, queue


def snapshot():
    import vlmeval.config as config, vlmeval.dataset as datasets
    return [
        [*map(id, datasets.DATASET_CLASSES)],
        [*map(id, datasets.IMAGE_DATASET)],
        [*datasets.SUPPORTED_DATASETS],
        [*datasets.__all__],
        [*config.supported_VLM],
    ]


def purge():
    for name in [*sys.modules]:
        if name.partition(".")[0] in ("vlmeval", "medbench_vlmeval", "toy_plugin"):
            del sys.modules[name]


def first_import(module):
    """What a process has that imports one of our modules before anything else of host or ours.

    Only other packages are loaded already in the process that is forked.
    """
    reading, writing = os.pipe()
    if os.fork() == 0:
        os.close(reading)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        try:
            importlib.import_module(module)
            answer = registered()
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(writing, json.dumps(answer).encode())
        os._exit(0)
    os.close(writing)
    return reading


def read(descriptor):
    with os.fdopen(descriptor, "rb") as stream:
        return json.loads(stream.read())


def main():
    answers = {"armed": armed()}
    for _ in range(2):
        importlib.util.find_spec("vlmeval")
    import vlmeval
    answers["host"] = vlmeval.__file__
    answers["registered"] = registered()
    answers["loaders"] = [
        [type(it.__loader__).__name__, it.__loader__ is it.__spec__.loader]
        for it in (vlmeval, sys.modules["vlmeval.dataset"], sys.modules["vlmeval.config"])
    ]
    answers["source"] = "SUPPORTED_DATASETS" in inspect.getsource(sys.modules["vlmeval.dataset"])
    answers["resources"] = importlib.resources.files(vlmeval).joinpath("config.py").is_file()

    import medbench_vlmeval
    before = snapshot()
    medbench_vlmeval.register()
    answers["second_call_changes_nothing"] = before == snapshot()
    dataset = vlmeval.dataset.build_dataset(NAME)
    answers["type"] = vlmeval.dataset.DATASET_TYPE(NAME)
    answers["reply"] = vlmeval.config.supported_VLM[MODEL]().generate_inner([])

    children = {it: start_child(it, dataset) for it in ("spawn", "forkserver", "fork")}
    answers["children"] = {it: queue.get() for it, (child, queue) in children.items()}
    for child, queue in children.values():
        child.join()

    for name in [it for it in sys.modules if it.partition(".")[0] == "vlmeval"]:
        del sys.modules[name]
    import vlmeval.dataset
    answers["registered_after_purge"] = registered()
    answers["built_after_purge"] = len(vlmeval.dataset.build_dataset(NAME))

    import pkgutil
    from medbench_vlmeval import datasets, models
    modules = [
        module.name
        for package in (datasets, models)
        for module in pkgutil.iter_modules(package.__path__, package.__name__ + ".")
    ]
    purge()
    answers["first"] = {}
    for pair in zip(modules[::2], modules[1::2] + [None]):
        running = [(module, first_import(module)) for module in pair if module]
        answers["first"].update({module: read(pipe) for module, pipe in running})
    print("\\nanswers: " + json.dumps(answers))


if __name__ == "__main__":
    import importlib
    main()
'''


@pytest.fixture(scope="module")
def environment(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """Our wheel, somebody's plugin, and the packages of the test environment."""
    if importlib.util.find_spec("vlmeval") is None:
        if os.environ.get("CI"):
            pytest.fail("VLMEvalKit is not installed; in CI it must be")
        pytest.skip('VLMEvalKit is not installed: pip install "medbench-vlmeval[host]"')
    environment = create_environment(tmp_path_factory.mktemp("real"))
    environment.unpack(wheel)
    write_files(environment.site_packages, TOY)
    # By a plain path in a .pth file a folder joins sys.path, but its own .pth files stay unread.
    lent = environment.site_packages / "zz_packages_of_the_test_environment.pth"
    lent.write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return environment


@pytest.fixture(scope="module")
def answers(environment: Environment, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    folder = write_files(tmp_path_factory.mktemp("questions"), {"questions.py": QUESTIONS})
    program = str(folder / "questions.py")
    process = run_python(environment.python, program, cwd=folder, timeout=400)
    found = [line for line in process.stdout.splitlines() if line.startswith("answers: ")]
    assert found, process.stderr[-4000:]
    return json.loads(found[-1].removeprefix("answers: "))


def test_the_installed_hook_registers_with_the_installed_host(answers: dict[str, Any]) -> None:
    assert answers["armed"] == 1
    assert "site-packages" in answers["host"]
    *toy, ours = answers["registered"]
    assert toy == [1, 1, True]
    assert "MedEBench" in ours


def test_the_host_builds_what_we_registered(answers: dict[str, Any]) -> None:
    assert answers["type"] == "TOY"
    assert answers["reply"] == "Toy-Model says fine"


def test_a_second_registration_changes_nothing(answers: dict[str, Any]) -> None:
    assert answers["second_call_changes_nothing"]


def test_the_modules_of_the_host_look_as_without_us(answers: dict[str, Any]) -> None:
    assert answers["loaders"] == [["SourceFileLoader", True]] * 3
    assert answers["source"]
    assert answers["resources"]


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
def test_children_know_each_name_once_and_unpickle_a_dataset(
    answers: dict[str, Any], method: str
) -> None:
    assert answers["children"][method] == [1, answers["registered"], 3]


def test_a_host_imported_again_is_registered_with_again(answers: dict[str, Any]) -> None:
    assert answers["registered_after_purge"] == answers["registered"]
    assert answers["built_after_purge"] == 3


def test_every_module_of_ours_may_be_imported_first(answers: dict[str, Any]) -> None:
    first = answers["first"]
    assert {"medbench_vlmeval.datasets.base", "medbench_vlmeval.models.base"} <= set(first)
    others = {module: said for module, said in first.items() if said != answers["registered"]}
    assert others == {}


def run_host(
    environment: Environment, folder: Path, *command: str, **environ: str
) -> tuple[dict[str, Any], str]:
    """What the host recorded of the toy dataset, and what it printed."""
    outputs = folder / "outputs"
    arguments = ["--data", "ToyQuestions_test", "--model", "Toy-Model", "--work-dir", str(outputs)]
    process = run_python(
        environment.python,
        *command,
        *arguments,
        cwd=folder,
        environ=clean_environ(**environ),
        timeout=300,
    )
    said = process.stdout + process.stderr
    found = sorted(outputs.glob("Toy-Model/**/status.json"))
    assert found, said[-4000:]
    return json.loads(found[-1].read_text(encoding="utf-8"))["datasets"]["ToyQuestions_test"], said


def test_the_host_started_as_a_module_evaluates_our_names(
    environment: Environment, tmp_path: Path
) -> None:
    status, _ = run_host(environment, tmp_path, "-m", "vlmeval")
    assert status["status"] == "done"
    assert status["metrics"] == {"rows": 3}


def test_upstreams_run_py_evaluates_our_names(environment: Environment, tmp_path: Path) -> None:
    status, _ = run_host(environment, tmp_path, str(upstream_clone() / "run.py"))
    assert status["status"] == "done"
    assert status["metrics"] == {"rows": 3}


def test_the_launcher_works_where_start_up_files_are_not_read(
    environment: Environment, tmp_path: Path
) -> None:
    path = os.pathsep.join([str(environment.site_packages), sysconfig.get_path("purelib")])
    command = ["-S", "-m", "medbench_vlmeval.run"]
    status, _ = run_host(environment, tmp_path, *command, PYTHONPATH=path)
    assert status["metrics"] == {"rows": 3}


def test_pngs_are_decoded_fast_inside_the_host(tmp_path: Path) -> None:
    # The host loads a zlib of its own, which pyspng must not take for the one it was built with.
    program = """
import vlmeval
import numpy as np
from medbench_vlmeval.images import encode_png, png_decoder, read_rgb
pixels = np.random.default_rng(0).integers(0, 256, (50, 40, 3), dtype=np.uint8)
print(png_decoder(), np.array_equal(read_rgb(encode_png(pixels)).pixels, pixels))
"""
    said = Host("ms-vlmeval", tmp_path).python(program)
    assert said.split()[-2:] == ["pyspng", "True"]
