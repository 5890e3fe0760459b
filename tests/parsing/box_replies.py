"""Replies as models write them, with the box a careful reader finds (pixels of 336 x 336)."""

from __future__ import annotations

from typing import Any, NamedTuple

from medbench_vlmeval.types import Status


class Reply(NamedTuple):
    text: object
    box: tuple[float, float, float, float] | None = (10, 20, 30, 40)
    flags: frozenset[str] = frozenset()
    convention: str = "absolute"
    status: Status = Status.ANSWER
    options: dict[str, Any] = {}  # noqa: RUF012


def flags(*names: str) -> frozenset[str]:
    return frozenset(names)


def thousandths(text: str, *names: str) -> Reply:
    """A reply in thousandths that means 33.6, 67.2, 168, 336."""
    return Reply(text, (33.6, 67.2, 168, 336), flags(*names), "norm1000")


def nothing(text: object, *names: str, status: Status = Status.UNPARSED) -> Reply:
    return Reply(text, None, flags(*names), status=status)


SEVERAL = flags("several_boxes")
TEXT = flags("text")

REPLIES: dict[str, Reply] = {
    # Qwen
    "qwen25_fenced": Reply('```json\n[\n\t{"bbox_2d": [10, 20, 30, 40], "label": "Skin"}\n]\n```'),
    "qwen25_object": Reply('{"bbox_2d": [10, 20, 30, 40]}'),
    "qwen25_label_with_digits": Reply('[{"label": "T2 lesion 3", "bbox_2d": [10, 20, 30, 40]}]'),
    "qwen25_two": Reply('[{"bbox_2d": [10,20,30,40]},\n{"bbox_2d": [1,2,3,4]}]', flags=SEVERAL),
    "qwen25_same_twice": Reply("[[10,20,30,40],[10,20,30,40]]", flags=SEVERAL),
    "qwen25_cut_second": Reply(
        '[{"bbox_2d": [10, 20, 30, 40], "label": "a"}, {"bbox_2d": [11, 2', flags=flags("truncated")
    ),
    "qwen25_cut_label": Reply(
        '[{"bbox_2d": [10, 20, 30, 40], "label": "ar', flags=flags("truncated")
    ),
    "qwen25_cut_fourth": nothing("[10, 20, 30, 4", "truncated", status=Status.TRUNCATED),
    "qwen25_cut_comma": nothing("10, 20, 30, 40,", "truncated", status=Status.TRUNCATED),
    "qwen25_fence_only": nothing("```json\n[\n\t{", "truncated", status=Status.TRUNCATED),
    "qwen2_tokens": thousandths("<|box_start|>(100,200),(500,1000)<|box_end|>"),
    "qwen2_ref_tokens": thousandths(
        "<|object_ref_start|>lung<|object_ref_end|><|box_start|>(100,200),(500,1000)<|box_end|>",
        "text",
    ),
    "medsg_tokens": Reply("<|box_start|>(10,20),(30,40)<|box_start|>."),
    "medsg_image_named": Reply(
        "It's in the third image. <|box_start|>(10,20),(30,40)<|box_end|>", flags=TEXT
    ),
    "qwen_tokens_cut": nothing("<|box_start|>(10,20),(30,4", "truncated", status=Status.TRUNCATED),
    # InternVL, MiniCPM, CogVLM, DeepSeek, GLM
    "internvl": thousandths("<box>[[100, 200, 500, 1000]]</box>"),
    "internvl_ref": thousandths("<ref>nodule</ref><box>[[100, 200, 500, 1000]]</box>", "text"),
    "internvl_two": thousandths("<box>[[100,200,500,1000], [1,2,3,4]]</box>", "several_boxes"),
    "minicpm": thousandths("<box>100 200 500 1000</box>"),
    "minicpm_cut": nothing("<box>100 200 500 10", "truncated", status=Status.TRUNCATED),
    "cogvlm": thousandths("[[100,200,500,1000]]"),
    "deepseek": thousandths("<|ref|>lung<|/ref|><|det|>[[100, 200, 500, 1000]]<|/det|>", "text"),
    "glm": thousandths("<|begin_of_box|>[100, 200, 500, 1000]<|end_of_box|>"),
    # fractions
    "mantis": Reply("[0.1, 0.2, 0.5, 1.0]", (33.6, 67.2, 168, 336), convention="norm1"),
    "llava": Reply("<box>[.1, .2, .5, 1]</box>", (33.6, 67.2, 168, 336), convention="norm1"),
    # Gemini: y first
    "gemini": Reply(
        '```json\n[{"box_2d": [200, 100, 1000, 500], "label": "mass"}]\n```',
        (33.6, 67.2, 168, 336),
        convention="yxyx1000",
    ),
    "gemini_plain": Reply("[200, 100, 1000, 500]", (33.6, 67.2, 168, 336), convention="yxyx1000"),
    "gemini_named": Reply(
        '{"ymin": 200, "xmin": 100, "ymax": 1000, "xmax": 500}',
        (33.6, 67.2, 168, 336),
        convention="yxyx1000",
    ),
    "gemini_xywh": Reply(
        "[200, 100, 800, 400]",
        (33.6, 67.2, 168, 336),
        convention="yxyx1000",
        options={"layout": "xywh"},
    ),
    # names
    "named_spaced": Reply("x_min = 10, y_min = 20, x_max = 30, y_max = 40"),
    "named_other_order": Reply('{"y2": 40, "x2": 30, "y1": 20, "x1": 10}'),
    "named_from_zero": Reply('{"x0": 10, "y0": 20, "x1": 30, "y1": 40}'),
    "named_sides": Reply("left: 10px, top: 20px, right: 30px, bottom: 40px"),
    "named_size": Reply("x: 10, y: 20, width: 20, height: 20"),
    "named_tags": Reply("<x1>10</x1><y1>20</y1><x2>30</x2><y2>40</y2>"),
    "named_attributes": Reply('<rect x1="10" y1="20" x2="30" y2="40"/>'),
    "named_nested": Reply('{"bbox": {"x1": 10, "y1": 20, "x2": 30, "y2": 40}}'),
    "named_list": Reply("The box [x1, y1, x2, y2] is [10, 20, 30, 40]."),
    "named_run": Reply("x1, y1, x2, y2: 10, 20, 30, 40"),
    "named_cut": nothing(
        '{"x1": 10, "y1": 20, "x2": 30, "y2": 4', "truncated", status=Status.TRUNCATED
    ),
    # corners
    "corners_equation": Reply("(x1, y1) = (10, 20), (x2, y2) = (30, 40)"),
    "corners_joined": Reply("It spans from (10, 20) to (30, 40).", flags=TEXT),
    "corners_json": Reply('{"top_left": [10, 20], "bottom_right": [30, 40]}'),
    "corners_long": Reply(
        "The top-left corner is at (10, 20) and the bottom-right corner is at (30, 40)."
    ),
    "corners_lines": Reply("Top-left: (10, 20)\nBottom-right: (30, 40)"),
    "corners_chinese": Reply("左上角（10，20），右下角（30，40）"),
    "corners_named": Reply('{"top_left": {"x": 10, "y": 20}, "bottom_right": {"x": 30, "y": 40}}'),
    "corners_named_cut": nothing(
        '{"top_left": {"x": 10, "y": 20}, "bottom_right": {"x": 30, "y": 4',
        "truncated",
        status=Status.TRUNCATED,
    ),
    "corners_named_yxyx": Reply(
        '{"top_left": {"x": 100, "y": 200}, "bottom_right": {"x": 500, "y": 1000}}',
        (33.6, 67.2, 168, 336),
        convention="yxyx1000",
    ),
    "corners_named_prose": Reply(
        "Top-left: x=10, y=20 and bottom-right: x=30, y=40 in the second image.", flags=TEXT
    ),
    # points
    "points_named": nothing('[{"x": 10, "y": 20}, {"x": 30, "y": 40}]', "point"),
    "point_in_prose": nothing("The lesion is centred at (192, 150).", "point", "text"),
    "point_json": nothing('{"point_2d": [192, 150], "label": "nodule"}', "point"),
    "point_named": nothing('<point x="61.5" y="40.2">nodule</point>', "point", "text"),
    "two_points": nothing("Findings at (10, 20) and (30, 40).", "point", "text"),
    "points_of_a_list": nothing("1. (10, 20)\n2. (30, 40)", "point"),
    # signs
    "full_width_digits": Reply("［１０，２０，３０，４０］"),
    "arabic_digits": Reply("[١٠, ٢٠, ٣٠, ٤٠]"),
    "chinese_brackets": Reply("坐标：【10、20、30、40】", flags=TEXT),
    "bold": Reply("**[10, 20, 30, 40]**"),
    "latex": Reply(r"$\boxed{[10, 20, 30, 40]}$"),
    "latex_brackets": Reply(r"\[ (10, 20), (30, 40) \]"),
    "quoted_numbers": Reply('["10", "20", "30", "40"]'),
    "non_breaking_blanks": Reply("10,\u00a020,\u200b30,\u202f40"),
    "unicode_minus": Reply("[−5, 20, 30, 40]", (-5, 20, 30, 40), flags("out_of_frame")),
    "trailing_stop": Reply("10, 20, 30, 40."),
    "table": Reply("| x1 | y1 | x2 | y2 |\n|---|---|---|---|\n| 10 | 20 | 30 | 40 |"),
    # thinking and final answers
    "thinking": Reply("<think>maybe [1, 2, 3, 4]</think>\n[10, 20, 30, 40]"),
    "thinking_closed_only": Reply("maybe [1, 2, 3, 4]</think>[10, 20, 30, 40]"),
    "thinking_without_end": nothing(
        "<think>maybe [10, 20, 30, 40]", "truncated", status=Status.TRUNCATED
    ),
    "answer_tags": Reply("A: [1,2,3,4]\n<answer>[10,20,30,40]</answer>", flags=SEVERAL | TEXT),
    "final_mark": Reply(
        "At first [1,2,3,4]. Final answer: [10,20,30,40]. Not [5,6,7,8].", flags=SEVERAL | TEXT
    ),
    "final_cut": nothing(
        "[1,2,3,4]. Final answer: [10, 20, 3", "truncated", status=Status.TRUNCATED
    ),
    "mark_behind_the_box": Reply("[10, 20, 30, 40] is my final answer.", flags=TEXT),
    # frames
    "corners_swapped": Reply("[30, 40, 10, 20]", flags=flags("inverted")),
    "no_height": Reply("[10, 20, 30, 20]", (10, 20, 30, 20), flags("degenerate")),
    "whole_image": Reply("[0, 0, 1000, 1000]", (0, 0, 336, 336), flags("full_image"), "norm1000"),
    "more_than_the_image": Reply(
        "[0, 0, 364, 364]", (0, 0, 364, 364), flags("full_image", "out_of_frame")
    ),
    "enlarged": Reply("[30, 60, 90, 120]", options={"sent_size_wh": (1008, 1008)}),
    "enlarged_frame": Reply(
        "[0, 0, 1008, 1008]",
        (0, 0, 336, 336),
        flags("full_image"),
        options={"sent_size_wh": (1008, 1008)},
    ),
    # no box
    "prose": nothing(
        "There are 2 nodules of 5 mm and 7 mm in slices 10, 12, 14, 16 and 18.", "text"
    ),
    "slices": nothing("Seen on images 10, 12, 14, 16.", "text"),
    "sizes": nothing("12 mm, 14 mm, 8 mm, 6 mm", "text"),
    "scores": nothing("[0.91, 0.05, 0.03]"),
    "box_and_score": nothing("[10, 20, 30, 40, 0.98]"),
    "loose": nothing("between 10 and 20 on x, 30 and 40 on y", "text"),
    "none": nothing("None", "text"),
    "infinite": nothing("[1e400, 0, 1, 1]"),
    "too_large": nothing("[" + "9" * 400 + ", 0, 1, 1]"),
    "refusal": nothing(
        "I'm sorry, but I can't help with analyzing medical images.", "text", status=Status.REFUSAL
    ),
    "failed_call": nothing(
        "Failed to obtain answer via API. [10, 20, 30, 40]", status=Status.API_FAIL
    ),
    "empty": nothing("", "missing", status=Status.MISSING),
    "blank": nothing(" \n\t", "missing", status=Status.MISSING),
    "nan": nothing(float("nan"), "missing", status=Status.MISSING),
    "no_reply": nothing(None, "missing", status=Status.MISSING),
    "list_object": Reply([10, 20, 30, 40]),
    "number_object": nothing(7),
}
