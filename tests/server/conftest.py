import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import grpc
import pytest

import bvb
from bvb.v1 import engine_pb2_grpc
from server.app import App, Config, default_limits

CONFIG = Config(port=0, workers=2, queue=4, drain_s=0.05, grace_s=1, limits=replace(default_limits(), threads=2))


class Service:
    """A server on its own thread, with a client and a raw channel."""

    def __init__(self, config: Config) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self.app = self.run(self._start(config))
        self.client = bvb.Client(self.address, timeout_s=60)
        self.channel = grpc.insecure_channel(self.address, [("grpc.enable_http_proxy", 0)])
        self.stub = engine_pb2_grpc.EngineServiceStub(self.channel)

    async def _start(self, config: Config) -> App:
        app = App(config)
        self.address = await app.start()
        return app

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def close(self) -> None:
        self.client.close()
        self.channel.close()
        self.run(self.app.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


@contextmanager
def running(**changes: Any) -> Iterator[Service]:
    service = Service(replace(CONFIG, **changes))
    try:
        yield service
    finally:
        service.close()


@pytest.fixture(scope="session")
def service() -> Iterator[Service]:
    """A server that all tests share."""
    with running() as service:
        yield service


@pytest.fixture
def start() -> Iterator[Callable[..., Service]]:
    """Starts a server of the test's own with changes to the configuration."""
    services = []

    def start(**changes: Any) -> Service:
        services.append(Service(replace(CONFIG, **changes)))
        return services[-1]

    yield start
    for service in services:
        service.close()
