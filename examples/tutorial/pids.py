"""Prints the process ids of the trainers and pservers of a job.

    paddlet status --json | python3 pids.py
"""

import json
import sys

for process in json.load(sys.stdin)["processes"]:
    if process["role"] in ("trainer", "pserver"):
        print(process["pid"])
