#!/usr/bin/env bash
# Train and measure again, from nothing, what scripts write into docs/: the sweeps with the zoo, alignments, documents,
# speeds and costs. Figures without a script name their own commands. bash scripts/reproduce.sh; hours on two cores.
# It first deletes what the sweeps have in runs and in docs/sweeps. It can be stopped; bash scripts/reproduce.sh --resume
# goes on, and keeps what was measured before.
# Sweeps are trained side by side where updates are counted, one after the other where time is.
set -euo pipefail
cd "$(dirname "$0")/.."
case ${1:-} in
  "") fresh=yes ;;
  --resume) fresh= ;;
  *) echo "bash scripts/reproduce.sh [--resume]; $1 is neither" >&2; exit 2 ;;
esac
bash scripts/setup.sh sweep,entmax
if [ -n "$fresh" ]; then
  for name in attention encoders guided_alignment kinds multi30k; do rm -rf "runs/$name" "docs/sweeps/$name"; done
  rm -rf runs/documents_compared runs/alignment docs/zoo/speed.json
fi
[ -f data/demo/train.en ] || .venv/bin/nmt data demo
[ -f data/multi30k/train.en ] || .venv/bin/nmt data multi30k
for name in attention encoders guided_alignment kinds; do bash scripts/sweep.sh "$name" --jobs "$(nproc)"; done
bash scripts/sweep.sh multi30k
bash scripts/alignment.sh
bash scripts/documents.sh
# What is timed comes last, when nothing else runs.
.venv/bin/python scripts/step_cost.py --write > /dev/null
.venv/bin/python scripts/layer_costs.py --minutes 3 --output docs/results > /dev/null
.venv/bin/python scripts/bench.py --write
.venv/bin/python scripts/results.py
