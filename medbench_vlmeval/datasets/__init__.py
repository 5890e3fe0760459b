"""Dataset classes that VLMEvalKit builds: one file a benchmark, found by being here.

The host is imported before anything else, so that whoever imports one of the modules first (a user,
an unpickling process) lets the host finish, and with it our registration, before the module runs.
"""

from __future__ import annotations

import vlmeval  # noqa: F401
