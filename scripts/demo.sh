#!/usr/bin/env bash
# From a fresh clone to a trained attention model and its pictures: bash scripts/demo.sh
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh
nmt=.venv/bin/nmt
run=runs/bahdanau

"$nmt" train --config configs/bahdanau.yaml --overwrite

sentences=$(printf '%s\n' \
  "The old teacher opens the window." \
  "Today the boy drinks no milk because he is tired." \
  "Yesterday the doctor wrote a long letter, but he forgot the key.")
echo
echo "Three sentences, translated:"
paste -d '\n' <(printf '%s\n' "$sentences") <("$nmt" translate --run "$run" <<< "$sentences") | sed 'n; s/^/  → /'

"$nmt" align --run "$run" --plot --output "$run/demo" <<< "$sentences" > "$run/demo.links"
echo
echo "Their alignments, and those of the first test sentences:"
ls "$run"/demo/*.png "$run"/alignments/*.png
