"""`nmt train` without training: the same options, files, signals and exit codes, in a moment.

A run's BLEU is 100 times its dropout, and grows with its steps. It waits before its last step while there is a file
`hold` in the sweep's folder. Its `tokenizer.vocabulary_size` says what goes wrong:
8 is a mistake in the config, 9 a fault of the program, 10 is killed.
"""

import argparse
import json
import os
import signal
import sys
import time
from pathlib import Path

import yaml

STEP = 0.02  # seconds


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--config", type=Path)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--run", type=Path)
    parser.add_argument("--device")
    given = parser.parse_args()
    asked: list[int] = []
    signal.signal(signal.SIGINT, lambda *_: asked.append(1))
    config = yaml.safe_load((given.run / "config.yaml" if given.resume else given.config).read_text(encoding="utf-8"))
    go_wrong(config["tokenizer"]["vocabulary_size"])
    state = given.run / "last" / "state.safetensors"
    step = int(state.read_text()) if given.resume else 0
    if not given.resume:
        given.run.mkdir(parents=True)
        (given.run / "config.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
    meta = {"format": "nmt run", "version": 1, "parameters": 1000}
    (given.run / "meta.json").write_text(json.dumps(meta), encoding="utf-8")
    say(given.run, f"from step {step} with {os.environ['OMP_NUM_THREADS']} threads")
    metrics = given.run / "metrics.jsonl"
    while step < config["training"]["max_steps"] and not asked:
        time.sleep(STEP)
        if step == config["training"]["max_steps"] - 1 and (given.run.parents[1] / "hold").exists():
            continue
        step += 1
        write(metrics, "update", step, target_tokens_per_second=1000.0 + step)
        if step % config["training"]["validate_every"] == 0:
            bleu = 100 * config["model"]["dropout"] * step / config["training"]["max_steps"]
            write(metrics, "validation", step, bleu=bleu, loss=2.0)
    state.parent.mkdir(exist_ok=True)
    state.write_text(str(step))
    if asked:
        sys.exit(130)
    scores = {"bleu": {"value": 100 * config["model"]["dropout"] + config["seed"]}, "aer": {"value": 0.25}}
    meta |= {"seconds": 6.0 * step, "step": step, "scores": scores, "finished": "2030-01-01"}
    (given.run / "meta.json").write_text(json.dumps(meta), encoding="utf-8")


def go_wrong(pieces: int) -> None:
    if pieces == 8:
        print("nmt: tokenizer.vocabulary_size: 8 is too small", file=sys.stderr)
        sys.exit(2)
    if pieces == 9:
        raise ZeroDivisionError("by nobody's mistake")
    if pieces == 10:
        os.kill(os.getpid(), signal.SIGKILL)


def say(run: Path, line: str) -> None:
    with (run / "train.log").open("a", encoding="utf-8") as log:
        print(line, file=log)


def write(metrics: Path, event: str, step: int, **values: float) -> None:
    with metrics.open("a", encoding="utf-8") as file:
        print(
            json.dumps({"event": event, "step": step, "epoch": step / 10, "seconds": float(step), **values}), file=file
        )


if __name__ == "__main__":
    main()
