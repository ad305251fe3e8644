#!/usr/bin/env bash
# Links of a training text by a statistical aligner, for training.guided_alignment: bash scripts/align_reference.sh
# writes data/multi30k/train.links; of another text: bash scripts/align_reference.sh SOURCE TARGET LINKS
# The aligner is eflomal (PyPI; it needs a C compiler), installed into .venv; Multi30k took it 17 seconds on two cores.
set -euo pipefail
source=$(realpath "${1:-data/multi30k/train.en}") target=$(realpath "${2:-data/multi30k/train.de}")
links=$(realpath -m "${3:-data/multi30k/train.links}")
cd "$(dirname "$0")/.."
bash scripts/setup.sh eflomal
exec .venv/bin/python scripts/align_reference.py "$source" "$target" "$links"
