#!/usr/bin/env bash
# Asks for the best move in a position, by server reflection alone: grpcurl.sh HOST:PORT position.json
set -euo pipefail
echo "{\"observation\": $(cat "$2"), \"budget\": {\"iterations\": 1000}, \"seed\": 1}" |
  grpcurl -plaintext -d @ "$1" bvb.v1.EngineService/SuggestMove
