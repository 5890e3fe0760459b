"""Our log messages in VLMEvalKit's log."""

from __future__ import annotations

import logging


def join_host_log() -> None:
    """Hand our messages to the host's logger, so that they reach its console and its log file.

    The host sets up handlers for its own logger ``vlmeval`` only, and at a time of its choosing (in
    child processes once more). As a child of that logger ours follows whatever it does. Without a
    set-up host nothing changes: messages go on to the root logger.
    """
    logging.getLogger("medbench_vlmeval").parent = logging.getLogger("vlmeval")
