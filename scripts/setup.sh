#!/usr/bin/env bash
# Make .venv where it is missing and install nmt into it: bash scripts/setup.sh [EXTRA,EXTRA]
# NMT_PYTHON may name another Python (3.11 or later).
set -euo pipefail
cd "$(dirname "$0")/.."
extra=${1:-}
python=${NMT_PYTHON:-python3}
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || {
  echo "nmt needs Python 3.11 or later, and $python is $("$python" --version 2>&1); name another with NMT_PYTHON" >&2
  exit 2
}
[ -x .venv/bin/python ] || "$python" -m venv .venv
# The stamp says which requirements were installed last; pip is asked again only when they change.
stamp=".venv/.installed${extra:+-$extra}"
want=$(cat pyproject.toml constraints.txt | cksum)
if [ "$(cat "$stamp" 2>/dev/null)" != "$want" ]; then
  echo "installing nmt into .venv" >&2
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e ".${extra:+[$extra]}"
  echo "$want" > "$stamp"
fi
