# SPDX-License-Identifier: Apache-2.0
"""What a test measured, for docs/reliability.md (tests/reliability.py). Nothing here is a test."""
import json
import os


def record(group, **row):
    """Add a row to the group's file in $MSP_RESULTS; nothing without that folder."""
    folder = os.environ.get("MSP_RESULTS")
    if not folder:
        return
    with open(os.path.join(folder, group + ".jsonl"), "a", encoding="utf-8") as file:
        file.write(json.dumps(row) + "\n")
