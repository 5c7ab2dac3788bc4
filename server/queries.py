"""Running analyses by name."""

import secrets
from collections.abc import Iterator
from contextlib import contextmanager

import grpc

from ai import StopToken
from server.errors import ServiceError


class Queries:
    """The running analyses of every caller. All methods belong to the event loop's thread."""

    def __init__(self) -> None:
        self._tokens: dict[tuple[str, str], StopToken] = {}

    def __len__(self) -> int:
        return len(self._tokens)

    @contextmanager
    def running(self, caller: str, query_id: str) -> Iterator[tuple[str, StopToken]]:
        """Name and token of an analysis that runs inside of this. Without a name it gets one that nobody can guess, by
        which any caller can stop it.

        Raises a ServiceError when the caller has a running analysis of this name.
        """
        key = (caller, query_id) if query_id else ("", secrets.token_hex(16))
        if key in self._tokens:
            raise ServiceError(
                grpc.StatusCode.ALREADY_EXISTS,
                f"an analysis with query_id {query_id!r} is running",
                "QUERY_EXISTS",
                {"query_id": query_id},
            )
        token = self._tokens[key] = StopToken()
        try:
            yield key[1], token
        finally:
            del self._tokens[key]

    def token_of(self, caller: str, query_id: str) -> StopToken | None:
        """What stops an analysis of the caller; None when there is none of this name."""
        return self._tokens.get((caller, query_id)) or self._tokens.get(("", query_id))
