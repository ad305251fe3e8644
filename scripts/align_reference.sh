#!/usr/bin/env bash
# Links of a training text by a statistical aligner, for training.guided_alignment: bash scripts/align_reference.sh
# writes data/multi30k/train.links, and silver links of a test text, data/multi30k/test_2016_flickr.links, to measure
# alignments by; of other texts: bash scripts/align_reference.sh SOURCE TARGET LINKS [--test SOURCE TARGET LINKS]
# The aligner is eflomal (PyPI; it needs a C compiler), installed into .venv; Multi30k takes it less than a minute.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
if [ $# = 0 ]; then
  cd "$root"
  set -- data/multi30k/{train.en,train.de,train.links} --test data/multi30k/test_2016_flickr.{en,de,links}
fi
bash "$root/scripts/setup.sh" eflomal
exec "$root/.venv/bin/python" "$root/scripts/align_reference.py" "$@"
