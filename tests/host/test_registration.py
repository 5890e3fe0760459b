"""What `register` does to the host's registries, with a small host in this process."""

from __future__ import annotations

import functools
import importlib
import logging
import shutil
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType

import pytest

from medbench_vlmeval import registry
from medbench_vlmeval.hosting import registration

from .fake_hosts import EAGER, LAZY, TOY_PLUGIN, UNRELATED, write_files

OURS = {
    "toy_datasets/__init__.py": "import vlmeval",
    "toy_datasets/edits.py": """
        import vlmeval.dataset
        from medbench_vlmeval.registry import register_dataset

        @register_dataset
        class ToyEdits:
            host = vlmeval.dataset

            @classmethod
            def supported_datasets(cls):
                return ["ToyEdits_test", "ToyEdits_dev"]
    """,
    "toy_models/__init__.py": "import vlmeval",
    "toy_models/local.py": """
        from medbench_vlmeval.registry import register_editor

        @register_editor("Toy-Strong", strength=9)
        @register_editor("Toy-Weak", strength=1)
        class ToyLocal:
            def __init__(self, *, name, **settings):
                self.name, self.settings = name, settings
    """,
    "toy_models/remote.py": """
        from medbench_vlmeval.registry import register_editor

        @register_editor("Toy-Remote")
        class ToyRemote:
            is_api = True

            def __init__(self, address="here"):
                self.address = address
    """,
}
NAMES = ("ToyEdits_test", "ToyEdits_dev")
SANDBOX_MODULES = ("vlmeval", "toy_datasets", "toy_models", "toy_plugin", "broken_plugin")


def purge(*packages: str) -> dict[str, ModuleType]:
    """Forget packages and their submodules; returns them by name."""
    doomed = [name for name in sys.modules if name.partition(".")[0] in packages]
    return {name: sys.modules.pop(name) for name in doomed}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path with a host and with packages that stand in for ours; nothing stays."""
    write_files(tmp_path, {**EAGER, **OURS})
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registration, "DATASETS_PACKAGE", "toy_datasets")
    monkeypatch.setattr(registration, "MODELS_PACKAGE", "toy_models")
    monkeypatch.delenv("MEDBENCH_VLMEVAL_DEBUG", raising=False)
    monkeypatch.setattr(sys, "meta_path", [it for it in sys.meta_path if not is_our_finder(it)])
    modules, datasets, editors = purge(*SANDBOX_MODULES), [*registry.DATASETS], {**registry.EDITORS}
    registry.DATASETS.clear()
    registry.EDITORS.clear()
    yield tmp_path
    registry.DATASETS[:] = datasets
    registry.EDITORS.clear()
    registry.EDITORS.update(editors)
    purge(*SANDBOX_MODULES)
    sys.modules.update(modules)


def is_our_finder(finder: object) -> bool:
    return type(finder).__module__ == "medbench_vlmeval_hook"


def host() -> ModuleType:
    return importlib.import_module("vlmeval.dataset")


def zoo() -> dict[str, functools.partial]:
    return importlib.import_module("vlmeval.config").supported_VLM


def snapshot() -> list[object]:
    """The contents of every registry of the host, and the attributes of its modules."""
    modules = [importlib.import_module(f"vlmeval.{name}") for name in ("dataset", "vlm", "api")]
    lists = [host().DATASET_CLASSES, host().IMAGE_DATASET, host().SUPPORTED_DATASETS]
    attributes = [{name: id(value) for name, value in vars(module).items()} for module in modules]
    models = {name: getattr(value, "func", value) for name, value in zoo().items()}
    return [*map(list, lists), list(host().__all__), models, attributes]


def rewrite(folder: Path, files: Mapping[str, str]) -> None:
    write_files(folder, files)
    importlib.invalidate_caches()


def test_datasets_reach_every_place_where_the_host_looks(folder: Path) -> None:
    done = registration.register()
    ours = sys.modules["toy_datasets.edits"].ToyEdits
    assert done.datasets == NAMES
    assert host().DATASET_CLASSES[0] is ours
    assert host().IMAGE_DATASET[-1] is ours
    assert tuple(host().SUPPORTED_DATASETS) == ("Theirs_test", *NAMES)
    assert host().ToyEdits is ours
    assert host().__all__ == ["TheirDataset", "ToyEdits"]


def test_editors_are_built_with_their_name_and_arguments(folder: Path) -> None:
    assert registration.register().editors == ("Toy-Weak", "Toy-Strong", "Toy-Remote")
    strong = zoo()["Toy-Strong"]()
    assert (strong.name, strong.settings) == ("Toy-Strong", {"strength": 9})
    # the host's command line writes into the keywords of these entries
    assert zoo()["Toy-Weak"].keywords == {"name": "Toy-Weak", "strength": 1}


def test_an_editor_that_takes_no_name_gets_none(folder: Path) -> None:
    registration.register()
    assert zoo()["Toy-Remote"]().address == "here"


def test_editor_classes_lie_where_config_files_look_for_them(folder: Path) -> None:
    registration.register()
    local, remote = importlib.import_module("vlmeval.vlm"), importlib.import_module("vlmeval.api")
    assert local.ToyLocal is sys.modules["toy_models.local"].ToyLocal
    assert remote.ToyRemote is sys.modules["toy_models.remote"].ToyRemote
    assert not hasattr(remote, "ToyLocal")
    assert not hasattr(local, "ToyRemote")


def test_registries_are_changed_in_place(folder: Path) -> None:
    held = [host().DATASET_CLASSES, host().IMAGE_DATASET, host().SUPPORTED_DATASETS, zoo()]
    registration.register()
    now = [host().DATASET_CLASSES, host().IMAGE_DATASET, host().SUPPORTED_DATASETS, zoo()]
    assert all(before is after for before, after in zip(held, now, strict=True))


def test_a_second_call_changes_nothing(folder: Path) -> None:
    first = registration.register()
    before = snapshot()
    assert registration.register() == first
    assert snapshot() == before


def test_a_module_imported_again_replaces_its_class_in_place(folder: Path) -> None:
    registration.register()
    del sys.modules["toy_datasets.edits"], sys.modules["toy_models.local"]
    registration.register()
    anew, local = sys.modules["toy_datasets.edits"].ToyEdits, sys.modules["toy_models.local"]
    assert [cls.__name__ for cls in host().DATASET_CLASSES] == ["ToyEdits", "TheirDataset"]
    assert host().DATASET_CLASSES[0] is host().ToyEdits is anew
    assert zoo()["Toy-Weak"].func is local.ToyLocal


def test_a_host_that_was_purged_gets_classes_made_for_it(folder: Path) -> None:
    registration.register()
    purge("vlmeval")
    done = registration.register()
    assert done.datasets == NAMES
    assert host().DATASET_CLASSES[0].host is host()
    assert registration.register().failures == ()


BROKEN_MODULE = {"toy_datasets/broken.py": "import no_such_module_at_all"}


def test_a_module_that_cannot_be_imported_does_not_hide_the_others(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rewrite(folder, BROKEN_MODULE)
    with caplog.at_level(logging.ERROR):
        done = registration.register()
    assert done.datasets == NAMES
    assert done.failures == (
        "module toy_datasets.broken: ModuleNotFoundError: No module named 'no_such_module_at_all'",
    )
    assert [record.getMessage() for record in caplog.records] == [
        f"not registered with VLMEvalKit: {done.failures[0]}"
    ]


def test_a_class_that_fails_does_not_hide_the_others(folder: Path) -> None:
    registration.register()

    class Unnamed:
        @classmethod
        def supported_datasets(cls) -> list[str]:
            raise RuntimeError("which names?\nnobody knows")

    registry.DATASETS.insert(0, Unnamed)
    done = registration.register()
    assert done.datasets == NAMES
    assert len(done.failures) == 1
    assert done.failures[0].endswith("Unnamed: RuntimeError: which names? nobody knows")
    assert Unnamed not in host().DATASET_CLASSES


def test_the_debug_variable_raises_the_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rewrite(folder, BROKEN_MODULE)
    monkeypatch.setenv("MEDBENCH_VLMEVAL_DEBUG", "1")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        registration.register()


def test_packages_of_other_people_are_loaded_by_their_entry_point(folder: Path) -> None:
    rewrite(folder, TOY_PLUGIN)
    done = registration.register()
    assert "Toy_test" in done.datasets
    assert zoo()["Toy-Editor"]().settings == {"strength": 3}


def test_a_broken_plugin_does_not_hide_the_others(folder: Path) -> None:
    broken = {
        "broken_plugin-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: broken\nVersion: 1\n",
        "broken_plugin-1.0.dist-info/entry_points.txt": (
            "[medbench_vlmeval.plugins]\nbroken = broken_plugin\n"
        ),
        "broken_plugin.py": "raise ZeroDivisionError('by design')",
    }
    rewrite(folder, {**TOY_PLUGIN, **broken})
    done = registration.register()
    assert done.failures == ("plugin broken (broken_plugin): ZeroDivisionError: by design",)
    assert "Toy_test" in done.datasets


def test_a_class_derived_from_the_hosts_takes_its_names_over(folder: Path) -> None:
    taking = """
        import sys
        from medbench_vlmeval.registry import register_dataset

        @register_dataset
        class TheirDataset(sys.modules["vlmeval.dataset"].TheirDataset):
            pass
    """
    rewrite(folder, {"toy_datasets/taking.py": taking})
    theirs = host().TheirDataset
    done = registration.register()
    ours = sys.modules["toy_datasets.taking"].TheirDataset
    assert done.taken_over == ("Theirs_test",)
    assert host().DATASET_CLASSES.index(ours) < host().DATASET_CLASSES.index(theirs)
    assert host().TheirDataset is ours
    assert host().SUPPORTED_DATASETS.count("Theirs_test") == 1
    assert registration.register().taken_over == ("Theirs_test",)
    assert host().TheirDataset is ours


def test_a_class_of_the_host_that_only_is_called_the_same_stays(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    theirs = host().ToyEdits = type("ToyEdits", (), {"__module__": "vlmeval.dataset"})
    registration.register()
    assert host().ToyEdits is theirs
    assert host().DATASET_CLASSES[0] is sys.modules["toy_datasets.edits"].ToyEdits
    assert "vlmeval.dataset.ToyEdits stays VLMEvalKit's own" in caplog.text


def test_a_model_name_that_the_host_has_itself_stays_the_hosts(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    zoo()["Toy-Weak"] = theirs = functools.partial(int)
    assert registration.register().editors == ("Toy-Strong", "Toy-Remote")
    assert zoo()["Toy-Weak"] is theirs
    assert "Toy-Weak stays VLMEvalKit's own" in caplog.text


def test_a_lazy_host_gets_its_editors_once_it_has_a_zoo(folder: Path) -> None:
    rewrite(folder, LAZY)
    assert registration.register().editors == ()
    assert "toy_models" not in sys.modules
    importlib.import_module("vlmeval.config")
    assert registration.register().editors == ("Toy-Weak", "Toy-Strong", "Toy-Remote")


@pytest.mark.parametrize("files", [UNRELATED, {**UNRELATED, "vlmeval/dataset.py": "rows = []"}])
def test_without_a_host_the_remedy_is_named(folder: Path, files: dict[str, str]) -> None:
    shutil.rmtree(folder / "vlmeval")
    rewrite(folder, files)
    with pytest.raises(ImportError, match=r"pip install .medbench-vlmeval\[host\]"):
        registration.register()


def test_a_package_that_the_host_misses_is_named_as_it_is(folder: Path) -> None:
    rewrite(folder, {"vlmeval/api.py": "import no_such_rouge_score"})
    with pytest.raises(ModuleNotFoundError, match="no_such_rouge_score"):
        registration.register()
