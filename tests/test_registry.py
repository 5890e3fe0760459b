from __future__ import annotations

import pytest

from medbench_vlmeval import registry


@pytest.fixture(autouse=True)
def _untouched_registries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "DATASETS", [])
    monkeypatch.setattr(registry, "EDITORS", {})


def _dataset(name: str, serves: str) -> type:
    return type(name, (), {"supported_datasets": classmethod(lambda cls: [serves])})


def test_a_dataset_is_listed_once_however_often_its_module_is_imported() -> None:
    for _ in range(2):
        registry.register_dataset(_dataset("First", "A_test"))
    assert [dataset.__name__ for dataset in registry.DATASETS] == ["First"]


def test_a_name_that_is_taken_is_refused() -> None:
    registry.register_dataset(_dataset("First", "A_test"))
    with pytest.raises(ValueError, match="First already serves"):
        registry.register_dataset(_dataset("Second", "A_test"))


def test_one_class_may_serve_several_editor_names() -> None:
    class Editor:
        pass

    registry.register_editor("Slow", steps=50)(registry.register_editor("Fast", steps=5)(Editor))
    assert registry.EDITORS["Fast"].arguments == {"steps": 5}
    assert registry.EDITORS["Slow"].editor is Editor


def test_an_editor_name_that_is_taken_is_refused() -> None:
    registry.register_editor("Same")(type("One", (), {}))
    with pytest.raises(ValueError, match="One already serves"):
        registry.register_editor("Same")(type("Two", (), {}))
