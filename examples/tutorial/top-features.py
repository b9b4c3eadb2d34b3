"""Prints the features with the greatest weights of an exported logistic regression.

    python3 top-features.py model.npz features.txt
"""

import sys

import numpy

model = numpy.load(sys.argv[1])
names = dict(line.split(maxsplit=1) for line in open(sys.argv[2]))
ids, weights = model["sparse/w/ids"], model["sparse/w/values"][:, 0]
print(f"bias {model['dense/bias/values'][0]:.3f}")
for row in numpy.argsort(-weights)[:5]:
    print(f"{weights[row]:.3f} {names[str(ids[row])].strip()}")
