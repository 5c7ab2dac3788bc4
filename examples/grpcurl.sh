#!/usr/bin/env bash
# Asks for the best move in a position, by server reflection alone: grpcurl.sh HOST:PORT position.json
# grpcurl is .venv/bin/grpcurl after `make build`; elsewhere it comes from the releases of fullstorydev/grpcurl on GitHub.
set -euo pipefail
if [ $# -ne 2 ]; then
  echo "usage: grpcurl.sh HOST:PORT position.json" >&2
  exit 2
fi
PATH=$PATH:$(dirname "$0")/../.venv/bin
command -v grpcurl > /dev/null || { echo "grpcurl is not installed" >&2; exit 1; }
[ -r "$2" ] || { echo "$2: cannot be read" >&2; exit 1; }
echo "{\"observation\": $(cat "$2"), \"budget\": {\"iterations\": 1000}, \"seed\": 1}" |
  grpcurl -plaintext -d @ "$1" bvb.v1.EngineService/SuggestMove
