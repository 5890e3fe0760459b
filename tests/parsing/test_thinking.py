from __future__ import annotations

import pytest

from medbench_vlmeval.parsing import without_thinking


@pytest.mark.parametrize(
    ("reply", "text", "is_cut"),
    [
        pytest.param("Answer: B", "Answer: B", False, id="none"),
        pytest.param("<think>A or C?</think>B", "B", False, id="block"),
        pytest.param("<thinking>\nA\n</thinking>\nB", "\nB", False, id="other_spelling"),
        pytest.param("<THINK>A</Think >B", "B", False, id="case_and_blank"),
        pytest.param("◁think▷A◁/think▷B", "B", False, id="kimi_marks"),
        pytest.param("A or C?</think>\n\nB", "\n\nB", False, id="lone_closing_mark"),
        pytest.param("<think>A", "", True, id="never_ends"),
        pytest.param("B <think>A", "B ", True, id="text_before_one_that_never_ends"),
        pytest.param("<think>A</think>B<think>C</think>D", "BD", False, id="two_blocks"),
        pytest.param("<think>a<think>b</think>c</think>d", "d", False, id="nested"),
        pytest.param("<think>the mark <think> is text</think>B", "B", False, id="mark_as_text"),
        pytest.param("<think>C</think>", "", False, id="nothing_after"),
        pytest.param("x < think of y", "x < think of y", False, id="no_mark"),
        pytest.param("", "", False, id="empty"),
    ],
)
def test_thinking_part_is_removed(reply: str, text: str, is_cut: bool) -> None:
    assert without_thinking(reply) == (text, is_cut)


def test_many_marks_take_linear_work() -> None:
    text, is_cut = without_thinking("<think>a</think>b" * 50_000)
    assert text == "b" * 50_000
    assert not is_cut
