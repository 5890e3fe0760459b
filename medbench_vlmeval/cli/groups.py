"""Groups of commands whose user errors are one line."""

from __future__ import annotations

import os
from typing import Any

import click


class Plain(click.Group):
    """A group whose user errors are one line and a remedy, never a traceback."""

    def invoke(self, context: click.Context) -> Any:
        from ..editing import EditsLost
        from ..judging import JudgeStopped

        try:
            return super().invoke(context)
        except BrokenPipeError:
            # A reader such as `head` has seen enough; click ends quietly.
            raise
        except (ValueError, OSError, ImportError, EditsLost, JudgeStopped) as error:
            if os.environ.get("MEDBENCH_VLMEVAL_DEBUG") == "1":
                raise
            raise click.ClickException(str(error) or type(error).__name__) from error
