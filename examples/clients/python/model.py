"""What a trainer computes (docs/client.md): shards, pushes, records of libsvm, and the gradient of `lr`, binary."""
import array
import math
import re
from collections import namedtuple

MASK = 0xffffffffffffffff
LOW = 0xffffffff
LOSS_FLOOR = 1e-15
BLANKS = b' \t\r'
# Python's float() takes more: inf, nan, 1_000.
DECIMAL = re.compile(rb'[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?')
FEATURE = re.compile(rb'(\d+):(.*)')
NO_GROUP = MASK
RECORD_BYTES, RECORD_FEATURES = 16 << 20, 1 << 20

# Features are (id, value) pairs in the order of the line.
Record = namedtuple('Record', 'label features weight group', defaults=(1.0, NO_GROUP))
# Sums over good records, as messages have them.
Metrics = namedtuple('Metrics', 'records weight loss correct squaredError', defaults=(0, 0.0, 0.0, 0.0, 0.0))
Gradient = namedtuple('Gradient', 'records bias rows')


def f32(value):
    # What is too large becomes infinite, where struct would raise.
    return array.array('f', [value])[0]


def fnv1a64(data):
    h = 0xcbf29ce484222325
    for byte in data:
        h = (h ^ byte) * 0x100000001b3 & MASK
    return h


def mix64(x):
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 & MASK
    x = (x ^ x >> 27) * 0x94d049bb133111eb & MASK
    return x ^ x >> 31


def name_hash(name):
    return mix64(fnv1a64(name.encode()))


def shard_of(hashed_name, number, shards):
    """The shard of a row's id, or of a block's number."""
    return (mix64(number ^ hashed_name) >> 32) * shards >> 32


def stamp_revision(led):
    """Names the units that a pserver leads; of each also the epoch since when."""
    return sum(mix64(mix64(unit) + since & MASK) for unit, since in led) & MASK


def shuffled(tasks, seed, a_pass):
    """The order of a pass's tasks. Only the master needs it in async mode; it is here to be checked."""
    state = ((seed & LOW) * 0x9e3779b1 ^ (a_pass + 1) * 0x85ebca77 ^ seed >> 32) & LOW

    def draw():
        nonlocal state
        state = state + 0x9e3779b9 & LOW
        z = (state ^ state >> 16) * 0x21f0aaad & LOW
        z = (z ^ z >> 15) * 0x735a2d97 & LOW
        return z ^ z >> 15

    def below(n):
        limit = 2 ** 32 - 2 ** 32 % n
        while (drawn := draw()) >= limit:
            pass
        return drawn % n

    order = list(range(tasks))
    for i in range(tasks - 1, 0, -1):
        other = below(i + 1)
        order[i], order[other] = order[other], order[i]
    return order


def shuffled_task(records, seed, a_pass, task):
    """The order of the records of a task, of jobs that shuffle them."""
    own = ((seed & LOW) * 0xc2b2ae3d ^ (task + 1) * 0x27d4eb2f) & LOW
    return shuffled(records, own, a_pass)


def pushes_of(records, batch_size, push_every):
    """For each push of a task its batches, each as [begin, end) of positions."""
    count = max(1, -(-records // batch_size))
    batches = [(i * batch_size, min((i + 1) * batch_size, records)) for i in range(count)]
    return [batches[at:at + push_every] for at in range(0, count, push_every)]


def lines_of(chunk):
    """The records of a chunk, as bytes: blank lines and comments do not count."""
    lines = (line.strip(BLANKS) for line in chunk.split(b'\n'))
    return [line for line in lines if line and not line.startswith(b'#')]


def parse_libsvm(line, may_have_weight):
    """A record with a label of 0 or 1; ValueError if the line is broken."""
    if len(line) > RECORD_BYTES:
        raise ValueError(f'the line has {len(line)} bytes')
    tokens = line.partition(b'#')[0].translate(bytes.maketrans(b'\t\r', b'  ')).split(b' ')
    label, *features = [token for token in tokens if token]
    label, colon, weight = label.partition(b':') if may_have_weight else (label, b'', b'')
    label, weight = binary_label(decimal(label)), weight_of(weight) if colon else 1.0
    group = group_of(features.pop(0)) if features and features[0].startswith(b'qid:') else NO_GROUP
    if len(features) > RECORD_FEATURES:
        raise ValueError(f'the line has {len(features)} features')
    return Record(label, [feature_of(token) for token in features], weight, group)


def weight_of(token):
    value = decimal(token)
    if value < 0 or not math.isfinite(f32(value)):
        raise ValueError(f'{value} is no weight')
    return f32(value)


def group_of(token):
    digits = token[len(b'qid:'):]
    if not re.fullmatch(rb'[0-9]+', digits) or int(digits) >= NO_GROUP:
        raise ValueError(f'{token!r} is no group')
    return int(digits)


def binary_label(label):
    if label not in (1, 0, -1):
        raise ValueError(f'{label} is no label of a binary task')
    return 1 if label == 1 else 0


def feature_of(token):
    found = FEATURE.fullmatch(token)
    if not found or int(found[1]) > MASK:
        raise ValueError(f'{token!r} is no feature')
    value = f32(decimal(found[2]))
    if not math.isfinite(value):
        raise ValueError(f'{token!r} is not finite in 32 bits')
    return int(found[1]), value


def decimal(token):
    if not DECIMAL.fullmatch(token):
        raise ValueError(f'{token!r} is no number')
    return float(token)


def probability(z):
    # No overflow for large |z|.
    if z >= 0:
        return 1 / (1 + math.exp(-z))
    return math.exp(z) / (1 + math.exp(z))


def log_loss(p, label):
    of_label = p if label == 1 else 1 - p
    return min(max(-math.log(max(of_label, LOSS_FLOOR)), LOSS_FLOOR), -math.log(LOSS_FLOOR))


def predict(records, bias, weights):
    """z of each record. Four sums take the features by turns: so the bits are paddlet's."""
    margins = []
    for record in records:
        sums = [0.0] * 4
        for place, (row, x) in enumerate(record.features):
            sums[place % 4] += weights[row] * x
        margins.append(bias + ((sums[0] + sums[1]) + (sums[2] + sums[3])))
    return margins


def metrics_of(records, margins):
    weight = loss = correct = squared = 0.0
    for record, z in zip(records, margins):
        p = probability(z)
        weight += record.weight
        loss += record.weight * log_loss(p, record.label)
        squared += record.weight * (p - record.label) ** 2
        if (z > 0) == (record.label == 1):
            correct += record.weight
    return Metrics(len(records), weight, loss, correct, squared)


def add_metrics(a, b):
    return Metrics(*(x + y for x, y in zip(a, b)))


def gradient_of(records, margins):
    """That of the sum of weight x loss, divided by the records. Rows are summed in f32."""
    bias, rows = 0.0, {}
    for record, z in zip(records, margins):
        difference = record.weight * (probability(z) - record.label)
        bias += difference
        slope = f32(difference / len(records))
        for row, x in record.features:
            rows[row] = f32(rows.get(row, 0.0) + f32(slope * x))
    return Gradient(len(records), f32(bias / max(1, len(records))), rows)


def is_finite(gradient):
    return all(map(math.isfinite, (gradient.bias, *gradient.rows.values())))


def gradient_of_push(gradients):
    """The mean of the batches' gradients, weighted by their good records."""
    if len(gradients) == 1:
        return gradients[0]
    total = sum(gradient.records for gradient in gradients)
    bias, rows = 0.0, {}
    for records, of_bias, of_rows in gradients:
        bias += records * of_bias
        for row, value in of_rows.items():
            rows[row] = rows.get(row, 0.0) + records * value
    count = max(1, total)
    return Gradient(total, f32(bias / count), {row: f32(value / count) for row, value in rows.items()})
