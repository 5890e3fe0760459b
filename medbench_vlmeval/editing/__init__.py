"""How an edited image travels from a model to its score.

A model writes the image into a content-addressed store and returns one JSON line that names it; the
dataset copies the image beside the predictions, so that an output folder can be moved, zipped and
scored again. Pictures of other people's runs arrive as plain paths and are read only inside roots
the user allowed.
"""

from __future__ import annotations

from .collecting import (
    ROOTS_VARIABLE,
    EditCollector,
    EditedImage,
    EditsLost,
    allowed_roots,
    images_folder,
    resolve_inside,
)
from .replies import (
    FAILED_CALL,
    EditReply,
    NoImageReturned,
    Replica,
    edited_image_line,
    failed_call_line,
    no_image_line,
    read_edit_reply,
    with_replicas,
)
from .store import STORE_VARIABLE, EditStore, edit_key
from .stored import StoredImage, image_format

__all__ = [
    "FAILED_CALL",
    "ROOTS_VARIABLE",
    "STORE_VARIABLE",
    "EditCollector",
    "EditReply",
    "EditStore",
    "EditedImage",
    "EditsLost",
    "NoImageReturned",
    "Replica",
    "StoredImage",
    "allowed_roots",
    "edit_key",
    "edited_image_line",
    "failed_call_line",
    "image_format",
    "images_folder",
    "no_image_line",
    "read_edit_reply",
    "resolve_inside",
    "with_replicas",
]
