"""Training speed on this machine: python scripts/bench.py [OPTIONS OF nmt bench], or --write.

`--write` measures the three chief kinds twice, with all that the processor has and without AMX, and puts the table into
docs/results/speed.md. Two cores, ten minutes without anything else running.
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from nmt.cli.app import app

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "speed.md"
PROCESSORS = {
    "processor as it is": {},
    "AMX left unused": {"ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16"},
}
"""From what the table says to the environment that makes it so."""
NAMES = {
    "bahdanau": "bahdanau",
    "luong": "luong, general, input feeding",
    "luong_no_feeding": "luong, general, no feeding",
}


def measured(environment: dict[str, str]) -> dict[str, Any]:
    """What `nmt bench` finds in a process of its own."""
    command = [sys.executable, "-m", "nmt", "bench", "--seconds", "10", "--json"]
    done = subprocess.run(command, env=os.environ | environment, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def table(found: dict[str, dict[str, Any]]) -> str:
    """Speeds by what the processor was allowed, and by kind."""
    lines = [
        "| attention | target tokens/s | MFLOP/token | limit, GFLOP/s | share |",
        "| --- | --- | --- | --- | --- |",
    ]
    for processor, speeds in found.items():
        lines.append(f"| *{processor}* | | | | |")
        for kind, speed in speeds.items():
            numbers = f"{speed['tokens_per_second']:,.0f} | {speed['flops_per_token'] / 1e6:.1f}"
            numbers += f" | {speed['limit'] / 1e9:,.0f} | {100 * speed['share']:.1f} %"
            lines.append(f"| {NAMES[kind]} | {numbers} |")
    return "\n".join(lines) + "\n"


def write(page: str, found: dict[str, dict[str, Any]]) -> str:
    """The page with this table in the place of its own."""
    return re.sub(r"(?<=<!-- speeds -->\n).*?(?=<!-- end -->)", lambda _: table(found), page, flags=re.DOTALL)


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        found = {processor: measured(environment) for processor, environment in PROCESSORS.items()}
        PAGE.write_text(write(PAGE.read_text(encoding="utf-8"), found), encoding="utf-8")
    else:
        app(["bench", *sys.argv[1:]], prog_name="bench.py")
