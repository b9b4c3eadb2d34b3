"""Checks the client's functions against the test vectors: check_vectors.py test/golden"""
import json
import pathlib
import struct
import sys

import cbor2

import model
import protocol


def check_shards(vectors):
    for case in vectors['rows']:
        check(model.shard_of(model.name_hash(case['table']), int(case['id']), case['shards']), case['shard'], case)
    for case in vectors['blocks']:
        check(model.shard_of(model.name_hash(case['parameter']), case['block'], case['shards']), case['shard'], case)


def check_stamps(vectors):
    for case in vectors:
        led = [(one['unit'], one['led']) for one in case['led']]
        check(str(model.stamp_revision(led)), case['stamp']['revision'], case)
        shards = sum(len(range(unit, case['shards'], case['units'])) for unit, _ in led)
        check(shards, case['stamp']['shards'], case)


def check_shuffle(vectors):
    for case in vectors:
        if 'task' in case:
            order = model.shuffled_task(case['records'], case['seed'], case['pass'], case['task'])
        else:
            order = model.shuffled(case['tasks'], case['seed'], case['pass'])
        check(order, case['order'], case)


def check_pushes(vectors):
    for case in vectors:
        pushes = model.pushes_of(case['records'], case['batchSize'], case['pushEvery'])
        check([[list(batch) for batch in push] for push in pushes], case['pushes'], case)


def check_model(vectors):
    batch = vectors['sparseBatch']
    ids = [int(text) for text in batch['ids']]
    pairs = [(ids[column], value) for column, value in zip(batch['columns'], batch['values'])]
    bounds = zip(batch['offsets'], batch['offsets'][1:])
    plain = [model.Record(label, pairs[begin:end]) for label, (begin, end) in zip(batch['labels'], bounds)]
    cases = [case for case in vectors['cases'] if (case['model'], case['task']) == ('lr', 'binary')]
    for case in cases:
        values = dict(zip(ids, case['values']['tables'][0]))
        counts = case.get('weights', [1.0] * len(plain))
        records = [record._replace(weight=weight) for record, weight in zip(plain, counts)]
        margins = model.predict(records, case['values']['dense'][0][0], values)
        gradient = model.gradient_of(records, margins)
        check([[gradient.bias]], case['gradients']['dense'], 'gradient of the bias')
        check([gradient.rows[row] for row in ids], case['gradients']['tables'][0], 'gradients of the rows')
        check([model.f32(model.probability(z)) for z in margins], case['scores'], 'scores')
        for name, value in model.metrics_of(records, margins)._asdict().items():
            check_near(value, case['metrics'][name], name)
    check(len(cases), 2, 'cases of lr')


def check_frames(folder):
    check_worked_example((folder / 'v3-push-request.bin').read_bytes())
    for path in sorted(folder.glob('v3-*.bin')):
        frame = path.read_bytes()
        kind, request, header, segments = protocol.decode_frame(frame)
        # The bytes of CBOR are the encoder's choice; what they mean is not.
        again = protocol.decode_frame(protocol.encode_frame(kind, request, header, segments))
        check(again, (kind, request, header, segments), path.name)
    try:
        protocol.decode_frame((folder / 'v2-push-request.bin').read_bytes())
    except ValueError:
        return
    raise AssertionError('a frame of version 2 was taken')


def check_worked_example(frame):
    header = {'type': 'push', 'job': 'j', 'batchPlanId': 'c', 'pass': 0, 'task': 5, 'push': 2, 'last': True,
              'good': 384, 'placement': {'revision': '17', 'shards': 256}, 'dense': [], 'sparse': [{'table': 0}]}
    segments = [struct.pack('<2Q', 7, 1 << 63), struct.pack('<2f', 0.5, -0.25)]
    check(protocol.encode_frame(protocol.REQUEST, 258, header, segments).hex(), frame.hex(), 'the worked example')


def check_join(vectors):
    token, client, server = (bytes.fromhex(vectors[name]) for name in ('token', 'clientNonce', 'serverNonce'))
    proofs = {who: protocol.proof_of(token, who, client, server, vectors['host']) for who in ('client', 'server')}
    check(proofs['client'].hex(), vectors['clientProof'], 'proof of the client')
    check(proofs['server'].hex(), vectors['serverProof'], 'proof of the role')
    for name, header in {
        'challenge': {'type': 'challenge', 'nonce': server},
        'proof': {'type': 'proof', 'nonce': client, 'proof': proofs['client']},
        'welcome': {'type': 'welcome', 'proof': proofs['server']},
    }.items():
        decoded = protocol.decode_frame(bytes.fromhex(vectors[name]))
        check(decoded, (protocol.JOIN, 0, header, []), f'the frame of the {name}')


def check(actual, expected, what):
    if actual != expected:
        raise AssertionError(f'{what}: {actual} instead of {expected}')


def check_near(actual, expected, what):
    if abs(actual - expected) > 1e-12 * max(1, abs(expected)):
        raise AssertionError(f'{what}: {actual} instead of {expected}')


def main(golden):
    def read(name):
        return json.loads((golden / 'vectors' / name).read_text())

    check_shards(read('shards.json'))
    check_stamps(read('stamps.json'))
    check_shuffle(read('shuffle.json'))
    check_pushes(read('pushes.json'))
    check_model(read('models.json'))
    check_frames(golden / 'frames')
    check_join(read('joining.json'))
    print('the vectors of shards, stamps, shuffle, pushes, models, frames and joining hold')


if __name__ == '__main__':
    main(pathlib.Path(sys.argv[1]))
