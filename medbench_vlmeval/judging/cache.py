"""Replies kept on disk by the content of the question, so that none is paid for twice.

One SQLite file, shared by any number of processes on one machine. It holds replies, not scores: a
reply is read again each time, so a better parser improves old runs.
"""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..files import sha256_bytes

_BUSY_SECONDS = 60
_OPEN_ATTEMPTS = 20


def cache_key(call_id: str, identity: str, repeat: int) -> str:
    """Key of one verdict: the request, whose judge it is, and which of the repeats."""
    return sha256_bytes(f"{call_id}\n{identity}\n{repeat}".encode())


class ReplyCache:
    """Finished verdicts by `cache_key`. Opened and closed by the thread that uses it.

    Verdicts without a value are stored as well, for the record, but never served: the question is
    asked again. A verdict is on disk when `store` returns, so a killed process loses only what was
    under way.

    Raises:
        ImportError: peewee is not installed.
        ValueError: the file cannot be opened, or is not a cache.
    """

    def __init__(self, path: Path | None) -> None:
        if path is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
        peewee = _peewee()
        self._database = peewee.SqliteDatabase(
            ":memory:" if path is None else str(path),
            pragmas={"journal_mode": "wal", "synchronous": "normal"},
            timeout=_BUSY_SECONDS,
        )
        try:
            _connect(peewee, self._database)
            self._database.create_tables([_table(peewee, self._database)], safe=True)
        except (peewee.DatabaseError, sqlite3.DatabaseError) as error:
            self.close()
            raise ValueError(
                f"expected a judge cache that can be read and written at {path}, got: {error}; "
                "move the file away or choose another one"
            ) from error

    # The two statements below are written out: building them anew for every call costs more CPU
    # than everything else between a reply and its verdict.

    def attempts(self, key: str) -> list[dict[str, Any]] | None:
        """The replies behind the latest usable verdict, first question first; `None`: none yet."""
        found = self._database.execute_sql(
            "SELECT attempts FROM verdict WHERE key = ? AND usable ORDER BY id DESC LIMIT 1", (key,)
        ).fetchone()
        if found is None:
            return None
        attempts: list[dict[str, Any]] = json.loads(found[0])
        return attempts

    def store(
        self, key: str, call_id: str, attempts: Sequence[Mapping[str, Any]], *, usable: bool
    ) -> None:
        """Keep the replies of one finished verdict."""
        stored = json.dumps([dict(attempt) for attempt in attempts])
        self._database.execute_sql(
            "INSERT INTO verdict (key, call_id, usable, stored_at, attempts)"
            " VALUES (?, ?, ?, ?, ?)",
            (key, call_id, usable, time.time(), stored),
        )

    def close(self) -> None:
        if not self._database.is_closed():
            self._database.close()


def _peewee() -> Any:
    try:
        import peewee
    except ImportError as error:
        raise ImportError('judging needs peewee: pip install "medbench-vlmeval[judge]"') from error
    return peewee


def _table(peewee: Any, database: Any) -> Any:
    # Made per database: a model class is bound to one, and a process may hold several caches.
    class Verdict(peewee.Model):
        key = peewee.CharField(index=True)
        call_id = peewee.CharField()
        usable = peewee.BooleanField()
        stored_at = peewee.FloatField()
        attempts = peewee.TextField()

        class Meta:
            table_name = "verdict"

    Verdict.bind(database)
    return Verdict


def _connect(peewee: Any, database: Any) -> None:
    # Turning on write-ahead logging does not honour the busy timeout when several processes
    # create the file at the same moment.
    from tenacity import retry, retry_if_exception_type, stop_after_attempt, wait_random

    attempt = retry(
        retry=retry_if_exception_type(peewee.OperationalError),
        stop=stop_after_attempt(_OPEN_ATTEMPTS),
        wait=wait_random(0.01, 0.1),
        reraise=True,
    )
    attempt(database.connect)(reuse_if_open=True)
