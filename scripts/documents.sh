#!/usr/bin/env bash
# Train on the demo documents with and without the sentences before, and write docs/results/documents.md:
# bash scripts/documents.sh. What has finished is skipped, and what was stopped goes on where it was; each with one thread.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh
export OMP_NUM_THREADS=1
runs=runs/documents_compared
mkdir -p "$runs"

train() {
  local run=$runs/$1 how
  shift
  if [ -f "$run/test.scores.json" ]; then
    echo "$run: finished before"
    return
  fi
  how=(--config configs/documents.yaml --overwrite "$@")
  if [ -f "$run/last/state.safetensors" ]; then how=(--resume); fi
  echo "$run: training, see $run/train.log"
  .venv/bin/nmt train "${how[@]}" --run "$run" > "$run.out" 2>&1 || { tail -n 1 "$run.out" >&2; return 1; }
}

train without --set data.document_context=0 --set model.context=null
train one --set data.document_context=1 --set model.context.sentence_gru=false
train two_unordered --set model.context.sentence_gru=false
train two
.venv/bin/python scripts/documents.py "$runs" docs/results/documents.md
