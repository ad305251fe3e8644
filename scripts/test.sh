#!/usr/bin/env bash
# Lint, types and tests: bash scripts/test.sh [PYTEST ARGUMENTS]
set -euo pipefail
cd "$(dirname "$0")/.."
bash scripts/setup.sh test
# Small models gain nothing from more threads; one each lets the tests share the cores.
export OMP_NUM_THREADS=1
.venv/bin/ruff format --check .
.venv/bin/ruff check .
.venv/bin/mypy
.venv/bin/python -m pytest -n 2 --dist worksteal -q "$@"
