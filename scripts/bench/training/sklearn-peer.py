"""Logistic regression by scikit-learn's SGDClassifier: MODEL PASSES RATE FILE..., one thread. Reading is not timed with
training. A model of several classes is one against the rest for each of them. Prints what training.c prints."""
import json
import sys
import time
import warnings

import numpy
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier

model, passes, rate, *files = sys.argv[1:]
warnings.filterwarnings("ignore")

began = time.perf_counter()
if model == "softmax":
    images, labels = (open(path, "rb").read() for path in files)
    x = numpy.frombuffer(images, numpy.uint8, offset=16).reshape(-1, 784).astype(numpy.float64) / 255
    y = numpy.frombuffer(labels, numpy.uint8, offset=8)
else:
    x, y = load_svmlight_file(files[0])
read, used = time.perf_counter(), time.process_time()
SGDClassifier(
    loss="log_loss",
    penalty=None,
    learning_rate="constant",
    eta0=float(rate),
    max_iter=int(passes),
    tol=None,
    shuffle=False,
).fit(x, y)
printed = {
    "readMs": 1000 * (read - began),
    "trainMs": 1000 * (time.perf_counter() - read),
    "cpuMs": 1000 * (time.process_time() - used),
    "records": x.shape[0],
}
print(json.dumps(printed))
