"""Templates of this package as one self-contained HTML text that runs no script but its own."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module, resources
from types import ModuleType
from typing import Any

from .. import __version__
from ..files import to_plain
from .safe_text import visible

_FOLDER = "html"


def rendered(
    template: str,
    *,
    styles: Sequence[str] = (),
    scripts: Sequence[str] = (),
    data: Mapping[str, Any] | None = None,
    **context: Any,
) -> str:
    """A template of ``report/html`` filled in; it should extend ``base.html``.

    Every value is escaped unless it is a `markupsafe.Markup`, and characters without a glyph stand
    there as their code points. The page's Content-Security-Policy allows the scripts given here by
    their hashes, images, styles, and nothing else: no connection, no frame, no form.

    Args:
        template: file name below ``report/html``.
        styles: CSS texts, inlined after ``base.css``.
        scripts: JavaScript texts, each one module of the page, run in this order.
        data: what the scripts read, by the id of its ``<script type="application/json">``.
        context: what the template names.

    Raises:
        ImportError: Jinja2 is not installed.
    """
    theme = script_text(asset("base.js"))
    modules = [script_text(it) for it in scripts]
    text: str = (
        templates(asset)
        .get_template(template)
        .render(
            version=__version__,
            policy=content_policy([theme, *modules]),
            theme_script=_markup(theme),
            styles=[_markup(it) for it in (asset("base.css"), *styles)],
            scripts=[_markup(it) for it in modules],
            data={name: _markup(script_json(value)) for name, value in (data or {}).items()},
            **context,
        )
    )
    return text


def templates(load: Callable[[str], str]) -> Any:
    """The Jinja2 environment of templates that `load` gives by name; every value is escaped.

    Raises:
        ImportError: Jinja2 is not installed.
    """
    jinja2 = needed_for_reports("jinja2")
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(load),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        finalize=with_code_points,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(number=shown_number, thousands=lambda number: f"{number:,}")
    return environment


def with_code_points(value: Any) -> Any:
    """Text of others with what has no glyph as code points, as `visible`; lines stay lines.

    Anything that is no text, or is markup already, is kept.
    """
    if not isinstance(value, str) or hasattr(value, "__html__") or value.isprintable():
        return value
    return "\n".join(visible(line) for line in value.split("\n"))


def asset(name: str) -> str:
    """The text of a file below ``report/html``."""
    return (resources.files(__package__) / _FOLDER / name).read_text(encoding="utf-8")


def needed_for_reports(module: str) -> ModuleType:
    """A package of the extra ``report``.

    Raises:
        ImportError: it is not installed; the message says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"pages need {module.partition('.')[0]}: pip install 'medbench-vlmeval[report]'"
        ) from error


_UNSAFE = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}


def script_json(value: Any) -> str:
    """`value` as JSON that can stand inside a ``<script>``, whatever text is in it."""
    text = json.dumps(to_plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _LONE.sub(lambda it: f"\\u{ord(it[0]):04x}", text.translate(_UNSAFE))


_LONE = re.compile("[\ud800-\udfff]")


def script_text(source: str) -> str:
    """JavaScript that cannot end its ``<script>`` early, nor open a comment or script inside it."""
    return (
        source.replace("<!--", r"<\x21--")
        .replace("</script", r"<\/script")
        .replace("<script", r"<\x73cript")
    )


def content_policy(scripts: Iterable[str], styles: Iterable[str] | None = None) -> str:
    """The Content-Security-Policy of a page with just these inline scripts.

    Args:
        scripts: their texts.
        styles: the texts of its only styles; None lets single elements have styles, as plots and
            the table do. No text of a model becomes one.
    """
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src {_hashes(scripts) or _NOTHING}",
            f"style-src {_ANY_INLINE if styles is None else _hashes(styles) or _NOTHING}",
            "img-src 'self' file: data:",
            "connect-src 'none'",
            "form-action 'none'",
            "base-uri 'none'",
        ]
    )


_NOTHING, _ANY_INLINE = "'none'", "'unsafe-inline'"


def _hashes(texts: Iterable[str]) -> str:
    digests = (hashlib.sha256(it.encode("utf-8")).digest() for it in texts)
    return " ".join(f"'sha256-{base64.b64encode(it).decode('ascii')}'" for it in digests)


def shown_number(value: float | None, unit: str = "") -> str:
    """A number as tables print it: three decimals for fractions, fewer for large units."""
    if value is None:
        return "–"
    decimals = 3 if abs(value) < 10 and unit != "dB" else 2
    return f"{value:.{decimals}f}".replace("-", "−")


def _markup(text: str) -> Any:
    return needed_for_reports("markupsafe").Markup(text)
