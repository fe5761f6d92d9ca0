#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Coverage and fuzzing as tables for the documents: figures.py RESULTS-FOLDER, which holds
coverage.json (tests/coverage/run.py) and fuzz.json (tests/fuzz/run.sh)."""
import json
import os
import sys


def read(folder, name):
    with open(os.path.join(folder, name), encoding="utf-8") as file:
        return json.load(file)


def coverage(result):
    yield f"| folder | lines | reached | share (at least {result['least']:.0f} % but for broker) |"
    yield "|---|---:|---:|---:|"
    for folder, row in result["folders"].items():
        yield f"| `{folder}` | {row['lines']} | {row['hit']} | {row['percent']} % |"


def fuzz(result):
    yield "| target | executions | per second | edges reached | inputs | crashes |"
    yield "|---|---:|---:|---:|---:|---:|"
    for name, row in result.items():
        yield (f"| `{name}` | {row['executions']:,} | {row['exec_per_s']:,} | {row['edges']} | "
               f"{row['corpus']} | {row['crashes']} |")


def main():
    folder = sys.argv[1]
    print("## Line coverage\n")
    print("\n".join(coverage(read(folder, "coverage.json"))))
    print("\n## Fuzzing\n")
    print("\n".join(fuzz(read(folder, "fuzz.json"))))


if __name__ == "__main__":
    main()
