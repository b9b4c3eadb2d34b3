"""Deep models by PyTorch, one thread. Reads a command a line, MODEL BATCH STEPS ("mlp 128 20"), and answers with the
milliseconds that the steps took. A step is forward, loss, gradient and the updates of all optimizers. Batches are made
before; the first command of a model and size is the slowest."""
import sys
import time

import torch
from torch import nn
from torch.nn import functional

BATCHES = 8
PIXELS, CLASSES = 784, 10
IDS, FIELDS, FACTORS = 1_000_000, 39, 16
# So small that no model learns its eight batches by heart: gradients of nearly 0 would become denormal numbers.
RATE = 1e-5


def tower(*widths):
    layers = [layer for sizes in zip(widths, widths[1:]) for layer in (nn.Linear(*sizes), nn.ReLU())]
    return nn.Sequential(*layers[:-1])


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.tower = tower(PIXELS, 256, 128, CLASSES)
        self.optimizers = [torch.optim.Adam(self.parameters(), lr=RATE)]

    def batch(self, records):
        """A fifth of the inputs are not 0."""
        images = torch.rand(records, PIXELS) * (torch.rand(records, PIXELS) < 0.2)
        return torch.randint(CLASSES, (records,)), images

    def forward(self, labels, images):
        return functional.cross_entropy(self.tower(images), labels)


class DeepFm(nn.Module):
    """As a user writes it: gradients of embeddings are sparse, and PyTorch finds the distinct ids in each step."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(1))
        self.weights = nn.Embedding(IDS, 1, sparse=True)
        self.factors = nn.Embedding(IDS, FACTORS, sparse=True)
        for embedding in self.weights, self.factors:
            nn.init.normal_(embedding.weight, std=0.01)
        self.tower = tower(FIELDS * FACTORS, 400, 400, 400, 1)
        dense = torch.optim.Adam([self.bias, *self.tower.parameters()], lr=RATE)
        self.optimizers = [dense, self.embedding_optimizer()]

    def embedding_optimizer(self):
        return torch.optim.Adagrad([self.weights.weight, self.factors.weight], lr=RATE)

    def batch(self, records):
        """Ids as models.ts draws them: a few are in most records."""
        ids = (IDS * torch.rand(records, FIELDS, dtype=torch.float64) ** 3).long()
        return (torch.rand(records) < 0.3).float(), ids

    def rows(self, embedding, ids):
        return embedding(ids)

    def forward(self, labels, *ids):
        factors = self.rows(self.factors, *ids)
        pairs = 0.5 * (factors.sum(1).square() - factors.square().sum(1)).sum(1)
        linear = self.bias + self.rows(self.weights, *ids).sum((1, 2))
        deep = self.tower(factors.flatten(1)).squeeze(1)
        return functional.binary_cross_entropy_with_logits(linear + pairs + deep, labels)


class RowAdagrad:
    """Adagrad of the rows that were taken from their tables since the last step."""

    def __init__(self, tables):
        self.sums = {table: torch.zeros_like(table) for table in tables}
        self.taken = []

    @torch.no_grad()
    def take(self, table, ids):
        rows = table.index_select(0, ids).requires_grad_()
        self.taken.append((table, ids, rows))
        return rows

    def zero_grad(self, set_to_none):
        self.taken.clear()

    @torch.no_grad()
    def step(self):
        for table, ids, rows in self.taken:
            squares = self.sums[table].index_select(0, ids).addcmul_(rows.grad, rows.grad)
            self.sums[table].index_copy_(0, ids, squares)
            table.index_copy_(0, ids, rows.detach().addcdiv_(rows.grad, squares.sqrt_().add_(1e-10), value=-RATE))


class DeepFmOfDistinct(DeepFm):
    """The same with distinct ids that batches bring along, as those of paddlet do: the least that a step has to do."""

    def embedding_optimizer(self):
        return RowAdagrad([self.weights.weight, self.factors.weight])

    def batch(self, records):
        labels, ids = super().batch(records)
        return labels, *ids.unique(return_inverse=True)

    def rows(self, embedding, ids, places):
        return functional.embedding(places, self.optimizers[1].take(embedding.weight, ids))


def milliseconds(model, batches, steps):
    began = time.perf_counter()
    for step in range(steps):
        for optimizer in model.optimizers:
            optimizer.zero_grad(set_to_none=True)
        model(*batches[step % BATCHES]).backward()
        for optimizer in model.optimizers:
            optimizer.step()
    return 1000 * (time.perf_counter() - began)


MODELS = {"mlp": Mlp, "deepfm": DeepFm, "deepfm-distinct": DeepFmOfDistinct}

torch.set_num_threads(1)
torch.manual_seed(1)
models, batches = {}, {}
for line in sys.stdin:
    name, records, steps = line.split()
    if name not in models:
        models[name] = MODELS[name]()
    if (name, records) not in batches:
        batches[name, records] = [models[name].batch(int(records)) for _ in range(BATCHES)]
    print(milliseconds(models[name], batches[name, records], int(steps)), flush=True)
