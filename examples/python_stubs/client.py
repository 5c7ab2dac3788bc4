"""The service from Python, with nothing but what is generated from the .proto files. Once before, in this folder:

    pip install grpcio-tools
    python -m grpc_tools.protoc -I ../../proto --python_out=. --grpc_python_out=. ../../proto/bvb/v1/*.proto

    python client.py suggest HOST:PORT position.json      the best move in a position
    python client.py analyze HOST:PORT position.json      what the search finds on the way; then one that is cancelled
    python client.py bot HOST:PORT ITERATIONS             a bot for a game that another program runs

The bot reads from standard input: first one line with the initial view of its seat (JSON), then the event lines that the seat
is shown. To the line "move" it answers with its move.
"""

import json
import queue
import sys
from collections.abc import Iterator
from pathlib import Path

import grpc
from google.protobuf import json_format

from bvb.v1 import bot_pb2, bot_pb2_grpc, engine_pb2, engine_pb2_grpc, observation_pb2


def read_position(text: str) -> observation_pb2.Observation:
    return json_format.Parse(text, observation_pb2.Observation())


def search(file: str, iterations: int) -> engine_pb2.SuggestMoveRequest:
    position = read_position(Path(file).read_text(encoding="utf-8"))
    return engine_pb2.SuggestMoveRequest(observation=position, budget={"iterations": iterations}, seed=1)


def suggest(channel: grpc.Channel, file: str) -> None:
    answer = engine_pb2_grpc.EngineServiceStub(channel).SuggestMove(search(file, 1000))
    print(json.dumps({"action": answer.action.notation, "visits": [a.visits for a in answer.alternatives]}))


def analyze(channel: grpc.Channel, file: str) -> None:
    engine = engine_pb2_grpc.EngineServiceStub(channel)
    for update in engine.Analyze(engine_pb2.AnalyzeRequest(search=search(file, 20_000), interval_ms=20)):
        print(json.dumps({
            "final": update.final,
            "iterations": update.result.iterations,
            "action": update.result.action.notation,
        }))  # fmt: skip
    endless = engine.Analyze(engine_pb2.AnalyzeRequest(search=search(file, 1_000_000)))
    next(endless)
    endless.cancel()
    try:
        for _ in endless:
            pass
    except grpc.RpcError as error:
        print(json.dumps({"cancelled": error.code() == grpc.StatusCode.CANCELLED}))


def bot(channel: grpc.Channel, iterations: str) -> None:
    requests: queue.SimpleQueue[bot_pb2.PlaySeatRequest | None] = queue.SimpleQueue()
    view = read_position(sys.stdin.readline())
    start = bot_pb2.SeatStart(initial_view=view, budget={"iterations": int(iterations)}, seed=view.seat)
    requests.put(bot_pb2.PlaySeatRequest(start=start))
    answers: Iterator[bot_pb2.PlaySeatResponse] = bot_pb2_grpc.BotServiceStub(channel).PlaySeat(iter(requests.get, None))
    next(answers)  # ready
    for line in map(str.strip, sys.stdin):
        if line != "move":
            requests.put(bot_pb2.PlaySeatRequest(events={"lines": [line]}))
            continue
        requests.put(bot_pb2.PlaySeatRequest(move={}))
        print(next(answers).move.action.notation, flush=True)
    requests.put(None)


COMMANDS = {"suggest": suggest, "analyze": analyze, "bot": bot}


def main() -> None:
    if len(sys.argv) != 4 or sys.argv[1] not in COMMANDS:
        sys.exit("usage: python client.py suggest|analyze|bot HOST:PORT position.json|ITERATIONS")
    command, address, argument = sys.argv[1:]
    with grpc.insecure_channel(address, [("grpc.enable_http_proxy", 0)]) as channel:
        try:
            COMMANDS[command](channel, argument)
        except grpc.RpcError as error:
            sys.exit(f"{error.code().name}: {error.details()}")
        except (OSError, ValueError, json_format.ParseError) as error:  # no such file, no number, no observation
            sys.exit(f"{argument}: {error}")


main()
