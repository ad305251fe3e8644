#!/usr/bin/env bash
# Where do trained models look, layer by layer and in both directions? Writes the tables of docs/results/alignment.md:
# bash scripts/alignment.sh. Runs of sweeps are taken as they lie in runs/, with their weights, or trained again as they
# were. What has finished is skipped, and what was stopped goes on; one after the other, since one has a budget of time.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh
[ -f data/demo/train.en ] || .venv/bin/nmt data demo
[ -f data/multi30k/train.en ] || .venv/bin/nmt data multi30k
[ -f data/multi30k/test_2016_flickr.links ] || bash scripts/align_reference.sh
runs=runs/alignment
mkdir -p "$runs"

train() {
  bash scripts/train_once.sh "$runs/$1" "${@:2}"
}

# A run of a sweep: of this machine, or from the config that is kept with the small results.
from_sweep() {
  local run=$runs/$1 kept=$2/runs/$3
  if [ ! -e "$run" ] && [ -f "runs/$kept/test.scores.json" ] && [ -f "runs/$kept/model.safetensors" ]; then
    rm -rf "$run.part"
    cp -r "runs/$kept" "$run.part"
    mv "$run.part" "$run"
  fi
  if [ ! -f "docs/sweeps/$kept/config.yaml" ]; then
    echo "docs/sweeps/$kept: is missing; first: bash scripts/sweep.sh $2" >&2
    exit 2
  fi
  train "$1" --config "docs/sweeps/$kept/config.yaml"
}

from_sweep multi30k_transformer multi30k transformer-seed1
from_sweep demo_transformer encoders transformer-seed1
from_sweep forward attention bahdanau-seed1
train reverse --config docs/sweeps/attention/runs/bahdanau-seed1/config.yaml \
  --set data.source_language=de --set data.target_language=en --set data.test.alignment=null \
  --set data.train.source=data/demo/train.de --set data.train.target=data/demo/train.en \
  --set data.valid.source=data/demo/valid.de --set data.valid.target=data/demo/valid.en \
  --set data.test.source=data/demo/test.de --set data.test.target=data/demo/test.en
.venv/bin/python scripts/alignment.py "$runs" docs/results/alignment.md
.venv/bin/python scripts/results.py
