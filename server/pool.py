"""Admission of searches to worker threads."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from ai import StopToken
from server.errors import overloaded, shutting_down

T = TypeVar("T")


class Turn(NamedTuple):
    """A search that waits for its threads. `granted` is their number when it has them, 0 when it was stopped while it waited."""

    threads: int
    token: StopToken
    granted: asyncio.Future[int]


class SearchPool:
    """Runs searches on at most `workers` threads; `queue` more may wait, in the order of arrival.

    A search releases the GIL and watches its StopToken, so that the event loop stays free while all workers
    search. Threads that no search needs are lent, and called back when one needs them. All methods belong to the event
    loop's thread.
    """

    def __init__(self, workers: int, queue: int) -> None:
        self.workers = workers
        self._queue = queue
        # One more for those that were stopped in the queue.
        self._executor = ThreadPoolExecutor(workers + 1, thread_name_prefix="search")
        self._free = workers
        self._waiting: deque[Turn] = deque()
        self._borrowers: deque[Turn] = deque()
        self._lent: dict[StopToken, int] = {}  # threads
        self._tokens: set[StopToken] = set()
        self._closed = False
        self._mean_s = 0.1

    @property
    def running(self) -> int:
        """Number of searches whose threads are at work, those on lent threads among them."""
        return len(self._tokens)

    @property
    def lent(self) -> int:
        """Number of threads that are lent."""
        return sum(self._lent.values())

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
        """The result of `search`, which uses `threads` threads; those beyond the workers share them with others. Its token
        is stopped when this is cancelled.

        Raises a ServiceError when the pool is closed, or the queue is full unless `patient`.
        """
        token = token or StopToken()
        threads = await self._admit(min(threads, self.workers), token, patient)
        started = time.monotonic()

        def finish() -> None:
            self._mean_s += 0.2 * (time.monotonic() - started - self._mean_s)
            self._release(threads)

        try:
            return await self._start(search, token, finish)
        finally:
            token.stop()

    def stop(self, token: StopToken) -> None:
        """Stop the search with a token. If it waits, it waits no longer: it has its first iteration to do and no more."""
        token.stop()
        for turn in self._waiting:
            if turn.token is token and not turn.granted.done():
                self._waiting.remove(turn)
                turn.granted.set_result(0)
                self._grant()
                return

    async def lend(self, work: Callable[[StopToken], T], threads: int = 1) -> T:
        """The result of `work` on threads that no search needs, waited for. Its token is stopped when one needs them, and when
        this is cancelled, which then waits for the end of the work.

        Raises a ServiceError when the pool is closed.
        """
        if self._closed:
            raise shutting_down()
        token = StopToken()
        threads = min(threads, self.workers)

        def finish() -> None:
            del self._lent[token]
            self._release(threads)

        await self._wait(self._borrowers, threads, token)
        ended = self._start(work, token, finish)
        try:
            return await asyncio.shield(ended)
        except asyncio.CancelledError:
            token.stop()
            await asyncio.wait([ended])
            raise

    def close(self) -> None:
        """Stop running searches (they return what they have found) and refuse all others."""
        self._closed = True
        for token in self._tokens:
            token.stop()
        for turn in (*self._waiting, *self._borrowers):
            if not turn.granted.done():
                turn.granted.set_exception(shutting_down())
        self._waiting.clear()
        self._borrowers.clear()

    def _start(self, work: Callable[[StopToken], T], token: StopToken, finish: Callable[[], None]) -> asyncio.Future[T]:
        """Run `work`, and in the end `finish` in the event loop, which is woken once for both."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[T] = loop.create_future()
        self._tokens.add(token)

        def settle(done: Future[T]) -> None:
            self._tokens.discard(token)
            finish()
            if result.cancelled():
                return
            error = done.exception()
            if error is None:
                result.set_result(done.result())
            else:
                result.set_exception(error)

        self._executor.submit(work, token).add_done_callback(lambda done: loop.call_soon_threadsafe(settle, done))
        return result

    async def _admit(self, threads: int, token: StopToken, patient: bool) -> int:
        """The number of threads that were granted; see Turn."""
        if self._closed:
            raise shutting_down()
        if not self._waiting and self._free >= threads:
            self._free -= threads
            return threads
        soon = self._free + self.lent - sum(turn.threads for turn in self._waiting)
        if len(self._waiting) >= self._queue and threads > soon and not patient:
            raise overloaded(self._mean_s * (1 + len(self._waiting) / self.workers))
        for borrower in self._lent:
            borrower.stop()
        return await self._wait(self._waiting, threads, token)

    async def _wait(self, line: deque[Turn], threads: int, token: StopToken) -> int:
        """Stand in line until threads are granted; their number."""
        turn = Turn(threads, token, asyncio.get_running_loop().create_future())
        line.append(turn)
        self._grant()
        try:
            return await turn.granted
        except asyncio.CancelledError:
            if turn in line:
                line.remove(turn)
                self._grant()
            elif not turn.granted.cancelled() and not turn.granted.exception():  # granted in the same moment
                self._lent.pop(token, None)
                self._release(turn.granted.result())
            raise

    def _release(self, threads: int) -> None:
        self._free += threads
        self._grant()

    def _grant(self) -> None:
        """Give free threads to those who wait for them, searches first."""
        while self._waiting and self._waiting[0].threads <= self._free:
            if self._waiting[0].granted.cancelled():
                return  # its own _wait removes it
            self._give(self._waiting.popleft())
        while not self._waiting and self._borrowers and self._borrowers[0].threads <= self._free:
            if self._borrowers[0].granted.cancelled():
                return
            self._lent[self._borrowers[0].token] = self._borrowers[0].threads
            self._give(self._borrowers.popleft())

    def _give(self, turn: Turn) -> None:
        self._free -= turn.threads
        turn.granted.set_result(turn.threads)
