#!/usr/bin/env bash
# Run a sweep of configs/sweeps, keep its small results in docs/sweeps, and write the pages that tell of it:
# bash scripts/sweep.sh NAME [OPTIONS OF nmt sweep]. It can be stopped and goes on, here or on another machine: what
# docs/sweeps/NAME has is not trained again. From nothing: rm -r docs/sweeps/NAME runs/NAME first.
set -euo pipefail
cd "$(dirname "$0")/.."
name=${1:-}
config=configs/sweeps/$name.yaml kept=docs/sweeps/$name run=runs/$name
if [ ! -f "$config" ]; then
  echo "bash scripts/sweep.sh NAME: one of $(cd configs/sweeps && echo *.yaml | sed 's/\.yaml//g')" >&2
  exit 2
fi
shift
bash scripts/setup.sh sweep,entmax
nmt=.venv/bin/nmt python=.venv/bin/python texts=--texts
if grep -q data/multi30k/ "$config"; then
  [ -f data/multi30k/train.en ] || "$nmt" data multi30k
  [ -f data/multi30k/train.links ] && [ -f data/multi30k/test_2016_flickr.links ] || bash scripts/align_reference.sh
  texts=--no-texts  # its sentences are not this project's to pass on
fi
mkdir -p runs docs/sweeps
if [ ! -e "$run" ] && [ -d "$kept" ]; then
  rm -rf "$run.part"
  cp -r "$kept" "$run.part"
  mv "$run.part" "$run"
fi
resume=()
if [ -f "$run/sweep.json" ]; then resume=(--resume); fi
# However it ends, by Ctrl-C too, what has finished is kept.
"$nmt" sweep --config "$config" "${resume[@]}" "$@" || code=$?
"$nmt" report "$run" --keep "$kept" "$texts" > /dev/null
if [ "$name" = attention ]; then
  if [ ! -f docs/zoo/speed.json ]; then
    mapfile -t configs < <("$python" scripts/zoo.py names | sed 's|.*|--config\nconfigs/&.yaml|')
    "$python" scripts/bench.py "${configs[@]}" --seconds 5 --json > docs/zoo/speed.json.part
    mv docs/zoo/speed.json.part docs/zoo/speed.json
  fi
  "$python" scripts/zoo.py draw "$run"
  "$python" scripts/zoo.py page
fi
"$python" scripts/results.py
exit "${code:-0}"
