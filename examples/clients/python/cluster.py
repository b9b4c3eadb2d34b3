"""The roles as a trainer meets them: where they are, requests to them, and what to do when they move."""
import functools
import json
import random
import struct
import time
from collections import namedtuple

from model import name_hash, shard_of, stamp_revision
from protocol import MOVED, RETRY, Failure, Peer

# Number 0 of the dense parameters of `lr` is the bias, one block; number 0 of its tables is `w`.
BIAS, TABLE = name_hash('bias'), name_hash('w')
FIRST_PAUSE, LONGEST_PAUSE = 0.05, 2.0

# `used`: for each pserver asked, the version of its values and the placement revision they were asked under.
Values = namedtuple('Values', 'bias weights used')
# What one pserver holds of a mini-batch: whether the bias, and which rows.
Part = namedtuple('Part', 'has_bias rows')


class JobOver(Exception):
    """The job has ended, or is being stopped: the trainer leaves."""


class Placement:
    """Which pserver holds which shard, read at one revision of the store."""

    def __init__(self, heads, claims, units, shards):
        self.owners, self._led, self.addresses = [0] * shards, {}, {}
        for unit in range(units):
            self._add(unit, heads.get(str(unit)), claims, range(unit, shards, units))

    def stamp(self, index):
        return {'revision': str(stamp_revision(self._led[index])), 'shards': self.owners.count(index)}

    def _add(self, unit, head, claims, shards):
        head = json.loads(head.value) if head else None
        claim = claims.get(str(head['primary']['index'])) if head else None
        if claim is None or head['primary']['token'] != str(claim.created):
            raise Failure('NotReady', 'a unit of shards has no live pserver')
        index = head['primary']['index']
        self._led.setdefault(index, []).append((unit, head['led']))
        self.addresses[index] = claim.value
        for shard in shards:
            self.owners[shard] = index


class Cluster:
    """Sends requests, again over new connections and by a new placement, until they are answered. Of one thread."""

    def __init__(self, store, chroot, facts):
        self._store, self._chroot = store, chroot
        self._common = {'job': facts['id'], 'batchPlanId': facts['batchPlanId']}
        self._units, self._shards = facts['units'], facts['job']['cluster']['shards']
        # Ids come again and again, and hashing is slow in Python.
        self._shard_of_row = functools.lru_cache(1 << 20)(lambda row: shard_of(TABLE, row, self._shards))
        self._stop = store.get(f'{chroot}/stop')
        self._passes = store.get(f'{chroot}/passes_desired')
        self._peers, self._placement = {}, None
        # Called before each try; raises what is to end the request.
        self.check = self.end_if_over

    def result(self):
        return self._store.json(f'{self._chroot}/result')

    def end_if_over(self):
        # A request to stop from before this trainer began is an old one, which the master deletes.
        stop = self._store.get(f'{self._chroot}/stop')
        is_asked_to_stop = stop is not None and (self._stop is None or stop.modified > self._stop.modified)
        # Gone with a job that was removed or started over; put again when a job gets more passes.
        passes = self._store.get(f'{self._chroot}/passes_desired')
        is_changed = passes is None or self._passes is None or passes.modified != self._passes.modified
        if is_asked_to_stop or is_changed or self.result() is not None:
            raise JobOver()

    def master(self, kind, segments=(), **fields):
        return self._until_answered(lambda: self._ask_master({'type': kind, **self._common, **fields}, segments))

    def master_once(self, kind, **fields):
        return self._ask_master({'type': kind, **self._common, **fields}, ())

    def position(self, address):
        """The lowest push that a pserver wants of the task, None if all have closed it; the lowest recovery number."""
        def requests(placement):
            header = {'type': 'position', **self._common, 'tasks': [address]}
            return {index: ({**header, 'placement': placement.stamp(index)}, ()) for index in placement.addresses}

        _, answers = self._pservers(requests)
        wanted = [reply['next'][0] for reply, _ in answers.values() if reply['next'][0] >= 0]
        return min(wanted, default=None), min(reply['recovery'] for reply, _ in answers.values())

    def pull(self, rows):
        def requests(placement):
            return {index: self._pull_request(placement, index, part)
                    for index, part in self._parts(placement, rows).items() if part.has_bias or part.rows}

        placement, answers = self._pservers(requests)
        parts, bias, weights, used = self._parts(placement, rows), 0.0, {}, {}
        for index, (reply, segments) in answers.items():
            values = [struct.unpack(f'<{len(segment) // 4}f', segment) for segment in segments]
            if parts[index].has_bias:
                bias, = values.pop(0)
            if parts[index].rows:
                weights.update(zip(parts[index].rows, values.pop(0)))
            used[index] = {'revision': placement.stamp(index)['revision'], 'version': reply['version']}
        return Values(bias, weights, used)

    def push(self, fields, gradient, used):
        """Sends a push to every pserver, also to those that it has nothing for; the answers of all."""
        def requests(placement):
            return {index: self._push_request(placement, index, part, fields, gradient, used)
                    for index, part in self._parts(placement, gradient.rows).items()}

        _, answers = self._pservers(requests)
        return [reply for reply, _ in answers.values()]

    def close(self):
        for peer in self._peers.values():
            peer.close()

    def _parts(self, placement, rows):
        parts = {index: Part(False, []) for index in placement.addresses}
        for row in rows:
            parts[placement.owners[self._shard_of_row(row)]].rows.append(row)
        of_bias = placement.owners[shard_of(BIAS, 0, self._shards)]
        parts[of_bias] = Part(True, parts[of_bias].rows)
        return parts

    def _pull_request(self, placement, index, part):
        dense, sparse = [{'parameter': 0}] * part.has_bias, [{'table': 0}] * bool(part.rows)
        header = {'type': 'pull', **self._common, 'placement': placement.stamp(index), 'dense': dense, 'sparse': sparse}
        return header, [struct.pack('<I', 0)] * part.has_bias + [packed(part.rows, 'Q')] * bool(part.rows)

    def _push_request(self, placement, index, part, fields, gradient, used):
        header, segments = self._pull_request(placement, index, part)
        header.update(fields, type='push')
        if index in used:
            header['used'] = used[index]
        # Pulls and pushes have the same numbers and ids; in a push the gradients follow each.
        if part.has_bias:
            segments.insert(1, struct.pack('<f', gradient.bias))
        if part.rows:
            segments.append(packed([gradient.rows[row] for row in part.rows], 'f'))
        return header, segments

    def _ask_master(self, header, segments):
        address = self._store.get(f'{self._chroot}/master/addr')
        if address is None:
            raise Failure('NotReady', 'no master is registered')
        return self._peer(address.value).call(header, segments)[0]

    def _pservers(self, requests):
        return self._until_answered(lambda: self._ask_pservers(requests))

    def _ask_pservers(self, requests):
        """Asks all at the same time; the placement that was asked by, and what each answered."""
        if self._placement is None:
            heads, claims = self._store.under(f'{self._chroot}/heads/', f'{self._chroot}/ps/')
            self._placement = Placement(heads, claims, self._units, self._shards)
        placement, waiting = self._placement, {}
        for index, (header, segments) in requests(placement).items():
            waiting[index] = self._peer(placement.addresses[index]).send(header, segments)
        answers, failures = {}, []
        for index, answer in waiting.items():
            try:
                answers[index] = answer.wait()
            except Failure as failure:
                failures.append(failure)
        if failures:
            # What another try cannot change comes first.
            raise min(failures, key=lambda failure: failure.code in RETRY | MOVED)
        return placement, answers

    def _until_answered(self, ask):
        pause = FIRST_PAUSE
        while True:
            self.check()
            try:
                return ask()
            except Failure as failure:
                if failure.code not in RETRY | MOVED:
                    raise
            self._placement = None
            time.sleep(pause * random.uniform(0.5, 1))
            pause = min(2 * pause, LONGEST_PAUSE)

    def _peer(self, address):
        peer = self._peers.get(address)
        if peer is None or peer.is_lost:
            # Read for each connection: it may have been changed.
            token = self._store.get(f'{self._chroot}/token')
            if token is None:
                raise Failure('NotReady', 'the job has no join token')
            peer = self._peers[address] = Peer(address, bytes.fromhex(token.value))
        return peer


def packed(numbers, kind):
    return struct.pack(f'<{len(numbers)}{kind}', *numbers)
