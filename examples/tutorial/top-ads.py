"""Prints the ads with the greatest mean of their scores.

    python3 top-ads.py scores.csv
"""

import csv
import sys

scores = {}
with open(sys.argv[1], newline="") as lines:
    for record in csv.DictReader(lines):
        scores.setdefault(record["ad"], []).append(float(record["score"]))
means = sorted(((sum(of) / len(of), ad) for ad, of in scores.items()), reverse=True)
for mean, ad in means[:5]:
    print(f"{mean:.3f} ad={ad}")
