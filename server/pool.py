"""Admission of searches to worker threads."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from ai import StopToken
from server.errors import overloaded, shutting_down

T = TypeVar("T")


class SearchPool:
    """Runs searches on at most `workers` threads; `queue` more may wait, in the order of arrival.

    A search releases the GIL and watches its StopToken, so that the event loop stays free while all workers
    search. All methods belong to the event loop's thread.
    """

    def __init__(self, workers: int, queue: int) -> None:
        self.workers = workers
        self._queue = queue
        self._executor = ThreadPoolExecutor(workers, thread_name_prefix="search")
        self._free = workers
        self._waiting: deque[tuple[int, asyncio.Future[None]]] = deque()
        self._tokens: set[StopToken] = set()
        self._closed = False
        self._mean_s = 0.1

    @property
    def running(self) -> int:
        """Number of searches whose threads are at work."""
        return len(self._tokens)

    @property
    def waiting(self) -> int:
        """Number of searches that wait for a thread."""
        return len(self._waiting)

    async def run(
        self,
        search: Callable[[StopToken], T],
        threads: int = 1,
        token: StopToken | None = None,
        patient: bool = False,
    ) -> T:
        """The result of `search`, which uses `threads` threads. Its token is stopped when this is cancelled.

        Raises a ServiceError when the pool is closed, or the queue is full unless `patient`.
        """
        await self._admit(threads, patient)
        token = token or StopToken()
        self._tokens.add(token)
        loop = asyncio.get_running_loop()
        started = time.monotonic()

        def finish() -> None:
            self._mean_s += 0.2 * (time.monotonic() - started - self._mean_s)
            self._tokens.discard(token)
            self._release(threads)

        def done(_: Future[T]) -> None:
            loop.call_soon_threadsafe(finish)

        future = self._executor.submit(search, token)
        future.add_done_callback(done)
        try:
            return await asyncio.wrap_future(future)
        finally:
            token.stop()

    def close(self) -> None:
        """Stop running searches (they return what they have found) and refuse all others."""
        self._closed = True
        for token in self._tokens:
            token.stop()
        for _, turn in self._waiting:
            if not turn.done():
                turn.set_exception(shutting_down())
        self._waiting.clear()

    async def _admit(self, threads: int, patient: bool) -> None:
        if self._closed:
            raise shutting_down()
        if not self._waiting and self._free >= threads:
            self._free -= threads
            return
        if len(self._waiting) >= self._queue and not patient:
            raise overloaded(self._mean_s * (1 + len(self._waiting) / self.workers))
        turn = asyncio.get_running_loop().create_future()
        entry = (threads, turn)
        self._waiting.append(entry)
        try:
            await turn
        except asyncio.CancelledError:
            if entry in self._waiting:
                self._waiting.remove(entry)
                self._start_waiting()
            elif not turn.cancelled() and not turn.exception():  # admitted in the same moment
                self._release(threads)
            raise

    def _release(self, threads: int) -> None:
        self._free += threads
        self._start_waiting()

    def _start_waiting(self) -> None:
        while self._waiting and self._waiting[0][0] <= self._free:
            threads, turn = self._waiting[0]
            if turn.cancelled():
                return  # its own _admit removes it
            self._waiting.popleft()
            self._free -= threads
            turn.set_result(None)
