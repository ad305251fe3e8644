#!/usr/bin/env bash
# Train every kind of attention on the demo corpus and write docs/attention.md: bash scripts/zoo.sh [NAME...]
# What has finished is skipped, and what was stopped goes on where it was. ZOO_JOBS trainings run side by side (default:
# one for each core), each with one thread. The page is built from docs/zoo/, which is committed: without training, too.
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh
jobs=${ZOO_JOBS:-$(nproc)}  # asked before the next line, which nproc would obey
export OMP_NUM_THREADS=1
python=.venv/bin/python

train() {
  local name=$1 run=runs/zoo/$1 how
  if [ -f "docs/zoo/$name/scores.json" ]; then
    echo "$name: finished before"
    return
  fi
  if [ ! -f "$run/test.scores.json" ]; then
    how=(--config "configs/$name.yaml" --set training.max_minutes=null --overwrite)
    if [ -f "$run/last/state.safetensors" ]; then how=(--resume); fi
    echo "$name: training, see $run/train.log"
    mkdir -p runs/zoo
    .venv/bin/nmt train "${how[@]}" --run "$run" > "$run.out" 2>&1 || { tail -n 1 "$run.out" >&2; return 1; }
  fi
  .venv/bin/python scripts/zoo.py keep "$run" "docs/zoo/$name"
}
export -f train

if [ $# -gt 0 ]; then names=$(printf '%s\n' "$@"); else names=$("$python" scripts/zoo.py names); fi
# A training that fails must not end the others; xargs tells in the end that one did.
echo "$names" | xargs -P "$jobs" -I NAME bash -euo pipefail -c 'train NAME' || failed=1
if [ ! -f docs/zoo/speed.json ]; then
  unset OMP_NUM_THREADS
  mapfile -t configs < <("$python" scripts/zoo.py names | sed 's|.*|--config\nconfigs/&.yaml|')
  "$python" scripts/bench.py "${configs[@]}" --seconds 5 --json > docs/zoo/speed.json.part
  mv docs/zoo/speed.json.part docs/zoo/speed.json
fi
"$python" scripts/zoo.py page docs/zoo docs/attention.md
exit "${failed:-0}"
