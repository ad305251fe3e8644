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
  bash scripts/train_once.sh "$runs/$1" --config configs/documents.yaml "${@:2}"
}

train without --set data.document_context=0 --set model.context=null
train one --set data.document_context=1 --set model.context.sentence_gru=false
train two_unordered --set model.context.sentence_gru=false
train two
.venv/bin/python scripts/documents.py "$runs" docs/results/documents.md
