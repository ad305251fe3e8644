#!/usr/bin/env bash
# Train a run unless it has finished: bash scripts/train_once.sh RUN OPTIONS OF nmt train. What was stopped goes on.
set -euo pipefail
cd "$(dirname "$0")/.."
run=$1
shift
if [ -f "$run/test.scores.json" ]; then
  echo "$run: finished before"
  exit
fi
how=(--overwrite "$@")
if [ -f "$run/last/state.safetensors" ]; then how=(--resume); fi
echo "$run: training, see $run/train.log"
.venv/bin/nmt train "${how[@]}" --run "$run" > "$run.out" 2>&1 || { tail -n 1 "$run.out" >&2; exit 1; }
