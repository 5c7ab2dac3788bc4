"""The server process: configuration, start, and an orderly end."""

import asyncio
import gc
import logging
import os
import signal
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

import bvb_core
from bvb.v1 import bot_pb2, bot_pb2_grpc, engine_pb2, engine_pb2_grpc
from server.bot_service import BotService
from server.engine import Engine, Limits
from server.engine_service import EngineService
from server.guard import Guard
from server.pool import SearchPool

log = logging.getLogger(__name__)

SERVICES = (
    engine_pb2.DESCRIPTOR.services_by_name["EngineService"].full_name,
    bot_pb2.DESCRIPTOR.services_by_name["BotService"].full_name,
)
REFLECTED = (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME)


def cores() -> int:
    """Number of cores this process may use."""
    return len(os.sched_getaffinity(0))


def default_limits() -> Limits:
    return Limits(iterations=10_000_000, time_ms=60_000, threads=cores())


def standard_decks() -> dict[str, bvb_core.Deck]:
    deck = bvb_core.load_deck()
    return {deck.id: deck}


@dataclass(frozen=True)
class Config:
    """How to serve. `port` 0 takes a free one; times are seconds."""

    host: str = "127.0.0.1"
    port: int = 50051
    workers: int = field(default_factory=cores)
    queue: int = 32
    limits: Limits = field(default_factory=default_limits)
    decks: Mapping[str, bvb_core.Deck] = field(default_factory=standard_decks)
    drain_s: float = 0.2
    grace_s: float = 3.0
    keepalive_s: float = 30.0
    """How long a connection may be silent before it is asked for a sign of life, which it has a third of this for."""


class App:
    """One gRPC server. `start`, then `stop`."""

    def __init__(self, config: Config) -> None:
        self._config = config
        keepalive_ms = round(1000 * config.keepalive_s)
        self.pool = SearchPool(config.workers, config.queue)
        self.health = health.aio.HealthServicer()
        self._server = grpc.aio.server(
            interceptors=[Guard()],
            options=[
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", config.limits.request_bytes),
                ("grpc.keepalive_time_ms", keepalive_ms),
                ("grpc.keepalive_timeout_ms", keepalive_ms // 3),
                ("grpc.keepalive_permit_without_calls", 1),
                ("grpc.http2.ping_timeout_ms", keepalive_ms // 3),
                ("grpc.http2.min_ping_interval_without_data_ms", keepalive_ms // 3),
            ],
        )
        self.engine = Engine(config.decks, config.limits)
        self.engine_service = EngineService(self.engine, self.pool)
        engine_pb2_grpc.add_EngineServiceServicer_to_server(self.engine_service, self._server)
        self.bot_service = BotService(self.engine, self.pool)
        bot_pb2_grpc.add_BotServiceServicer_to_server(self.bot_service, self._server)
        health_pb2_grpc.add_HealthServicer_to_server(self.health, self._server)
        reflection.enable_server_reflection(REFLECTED, self._server)

    async def start(self) -> str:
        """Start to serve; the address is returned. Raises OSError when it cannot be had."""
        host, port = self._config.host, self._config.port
        shown = f"[{host}]" if ":" in host else host
        try:
            # gRPC would not say why, and write lines of its own to stderr.
            with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                probe.bind((host, port))
            port = self._server.add_insecure_port(f"{shown}:{port}")
        except (OSError, RuntimeError) as error:
            await self._server.stop(None)
            why = error.strerror if isinstance(error, OSError) else "is it taken by another server?"
            raise OSError(f"cannot listen on {shown}:{port}: {why}") from None
        await self._server.start()
        for service in SERVICES:
            await self.health.set(service, health_pb2.HealthCheckResponse.SERVING)
        return f"{shown}:{port}"

    async def stop(self) -> None:
        """Tell health watchers, let running searches answer with what they have, then close."""
        await self.health.enter_graceful_shutdown()
        await asyncio.sleep(self._config.drain_s)
        self.pool.close()
        await self.bot_service.close()
        await self._server.stop(self._config.grace_s)


async def serve(config: Config, announce: Callable[[str], None]) -> None:
    """Serve until SIGTERM or SIGINT. `announce` gets the address once calls are accepted."""
    app = App(config)
    address = await app.start()
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    gc.collect()
    gc.freeze()  # what is there now stays: no collection has to look through it again
    announce(address)
    await ended.wait()
    log.info("stopping")
    await app.stop()
