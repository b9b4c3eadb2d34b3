"""A trainer for jobs in async mode with the model `lr`, binary, on libsvm files: trainer.py --store sqlite:PATH"""
import argparse
import json
import os
import signal
import struct
import sys
import threading
import time
import uuid

import model
from cluster import Cluster, JobOver
from protocol import DROP, Failure
from store import POLL_SECONDS, Registration, Store, wait_for_store
from tasks import Tasks

# The address of a trainer that does not listen.
NOWHERE = '127.0.0.1:1'
JOB_VERSION = 12
PROGRESS_SECONDS, TASK_WAIT_MS = 1.0, 2000
# Faults of a task's records; then those of the cluster that fail a task too. Any other fatal error ends the trainer.
DATA_FAULTS = {'TooManyBadRecords', 'BadGradient', 'DataMissing', 'DataChanged', 'DataInvalid'}
TASK_FAULTS = DATA_FAULTS | {'OutOfMemory', 'Internal'}
ADDRESS_FIELDS = ('queue', 'pass', 'task', 'attempt')


class Dropped(Exception):
    """The attempt does not count any more."""


class Progress:
    """Tells the master every second what is being done, in its own thread, and hears whether that still counts."""

    def __init__(self, cluster, trainer):
        self._cluster, self._trainer = cluster, trainer
        self.records, self.loss, self.phase, self.position = 0, 0.0, 'idle', 0
        self._address, self._is_dropped = None, False
        threading.Thread(target=self._tell, daemon=True).start()

    def begin(self, address):
        self.position, self._is_dropped, self._address = 0, False, address

    def end(self):
        self._address, self.phase = None, 'idle'

    def check(self):
        if self._is_dropped:
            raise Dropped()

    def _tell(self):
        try:
            while True:
                time.sleep(PROGRESS_SECONDS)
                address = self._address
                if address is None:
                    continue
                executing = {**address, 'position': self.position}
                live = self._cluster.master('progress', trainer=self._trainer, executing=executing,
                                            phase=self.phase, records=self.records, loss=self.loss)['live']
                if not live and address is self._address:
                    self._is_dropped = True
        except (JobOver, Failure):
            # The trainer's own requests meet the same.
            pass


class Attempt:
    """One attempt at a task of training: what of it was computed, pushed and counted."""

    def __init__(self, task, records, training, cluster, progress):
        self._pushes = model.pushes_of(len(records), training['batchSize'], training['pushEvery'])
        self._batches = [batch for push in self._pushes for batch in push]
        self._fields = {'pass': task['pass'], 'task': task['task']}
        self._records, self._training, self._cluster, self._progress = records, training, cluster, progress
        # Values serve `pullEvery` batches in a row; before the batch `_pull_at` others are pulled.
        self._values, self._pull_at = None, 0
        self.read = self.duplicate = 0
        self.metrics = model.Metrics()

    def push_all(self):
        """Brings every pserver to the end of the task; the recovery number of that."""
        self._progress.phase = 'wait'
        number, recovery = self._cluster.position(self._fields)
        self._values = None
        while number is not None and number < len(self._pushes):
            self._progress.position = number
            try:
                recovery = self._push(number)
                number += 1
            except Failure as failure:
                number = push_to_repeat(failure)
                self._values = None
        return recovery

    def _push(self, number):
        self._progress.phase = 'compute'
        gradient, metrics, used = self._compute(number)
        end = self._pushes[number][-1][1]
        fields = {**self._fields, 'push': number, 'last': number == len(self._pushes) - 1,
                  'good': sum(record is not None for record in self._records[:end])}
        self.read += gradient.records
        self._progress.records += gradient.records
        self.metrics = model.add_metrics(self.metrics, metrics)
        self._progress.phase = 'push'
        answers = self._cluster.push(fields, gradient, used)
        if all(answer['outcome'] == 'duplicate' for answer in answers):
            self.duplicate += gradient.records
        return min(answer['recovery'] for answer in answers)

    def _compute(self, number):
        gradients, metrics, used = [], model.Metrics(), {}
        for at in range(len(self._pushes[number])):
            values = self._values_for(number * self._training['pushEvery'] + at)
            # The oldest pull behind the push counts.
            used = {**values.used, **used}
            good = self._good(self._pushes[number][at])
            margins = model.predict(good, values.bias, values.weights)
            gradients.append(model.gradient_of(good, margins))
            metrics = model.add_metrics(metrics, model.metrics_of(good, margins))
        self._progress.loss = metrics.loss / (metrics.weight or 1)
        gradient = model.gradient_of_push(gradients)
        if not model.is_finite(gradient):
            # Found here, as one pserver could apply its part before another refuses.
            raise Failure('BadGradient', f'push {number} of task {self._fields["task"]} is not finite')
        return gradient, metrics, used

    def _values_for(self, batch):
        if self._values is None or batch >= self._pull_at:
            self._pull_at = batch + self._training['pullEvery']
            good = [record for each in self._batches[batch:self._pull_at] for record in self._good(each)]
            self._progress.phase = 'pull'
            self._values = self._cluster.pull(rows_of(good))
            self._progress.phase = 'compute'
        return self._values

    def _good(self, batch):
        return [record for record in self._records[batch[0]:batch[1]] if record is not None]


class Trainer:
    def __init__(self, path, chroot, facts, data_dir):
        self._job, self._id = facts['job'], str(uuid.uuid4())
        self._cluster = Cluster(Store(path), chroot, facts)
        self._progress = Progress(Cluster(Store(path), chroot, facts), self._id)
        self._tasks = Tasks(data_dir or facts['dataDir'], self._job['data'])
        key, ttl_ms = f'{chroot}/trainer/{self._id}', self._job['cluster']['leaseTtlMs']
        value = json.dumps({'address': NOWHERE, 'job': facts['id']})
        self._registration = Registration(path, key, value, ttl_ms)
        self._task, self._finished, self._read_before = None, 0, 0

    def run(self):
        """Works until the job has ended; its result."""
        say(f'trainer {self._id} is registered')
        try:
            while True:
                self._cluster.end_if_over()
                reply = self._cluster.master('getTasks', trainer=self._id, held=[], most=1, maxWaitMs=TASK_WAIT_MS)
                if reply['state'] == 'tasks':
                    self._work(reply['tasks'][0])
                elif reply['state'] == 'finished' or reply.get('saveModel'):
                    # Answered at once, with nothing to do: this trainer saves no models.
                    time.sleep(POLL_SECONDS)
        except JobOver:
            return self._cluster.result()
        finally:
            self._leave()

    def _work(self, task):
        self._task = {field: task[field] for field in ADDRESS_FIELDS}
        self._progress.begin(self._task)
        self._read_before = self._progress.records
        self._cluster.check = self._check
        try:
            self._evaluate(task) if task['queue'] == 'evaluate' else self._train(task)
            self._finished += 1
            say(f'finished task {task["task"]} of {task["queue"]} {task["pass"]}')
        except Dropped:
            say(f'task {task["task"]} is dropped: another attempt counts')
        except Failure as failure:
            self._take_failure(failure)
        self._task, self._cluster.check = None, self._cluster.end_if_over
        self._progress.end()

    def _check(self):
        self._cluster.end_if_over()
        self._progress.check()

    def _take_failure(self, failure):
        if failure.code in DROP:
            say(f'task {self._task["task"]} is dropped: {failure}')
        elif failure.code in TASK_FAULTS:
            self._report('failTask', code=failure.code, error=failure.message[:4096],
                         data=failure.code in DATA_FAULTS, read=self._computed())
        else:
            raise failure

    def _train(self, task):
        records = self._in_order(task, self._read(task))
        good = sum(record is not None for record in records)
        attempt = Attempt(task, records, self._job['training'], self._cluster, self._progress)
        while True:
            recovery = attempt.push_all()
            self._progress.phase = 'wait'
            try:
                self._finish(recovery=recovery, records=len(records), good=good, bad=len(records) - good,
                             read=attempt.read, duplicate=attempt.duplicate, metrics=attempt.metrics._asdict())
                return
            except Failure as failure:
                # A pserver was restored since it acknowledged: it may lack some of the pushes.
                if failure.code != 'StaleRecovery':
                    raise

    def _evaluate(self, task):
        records = self._read(task)
        good, size = [record for record in records if record is not None], self._job['training']['batchSize']
        margins = []
        for at in range(0, len(good), size):
            batch = good[at:at + size]
            self._progress.phase = 'pull'
            values = self._cluster.pull(rows_of(batch))
            margins += model.predict(batch, values.bias, values.weights)
        scores = struct.pack(f'<{len(good)}f', *map(model.probability, margins))
        labels = struct.pack(f'<{len(good)}f', *(record.label for record in good))
        weights = struct.pack(f'<{len(good)}f', *(record.weight for record in good))
        groups = struct.pack(f'<{len(good)}Q', *(record.group for record in good))
        self._tell('finishEvaluation', [scores, labels, weights, groups], bad=len(records) - len(good),
                   metrics=model.metrics_of(good, margins)._asdict())

    def _computed(self):
        """Records of the task in work that were computed, also again."""
        return self._progress.records - self._read_before

    def _read(self, task):
        self._progress.phase = 'read'
        return self._tasks.records_of(task)

    def _in_order(self, task, records):
        if self._job['data']['shuffle'] != 'records':
            return records
        order = model.shuffled_task(len(records), self._job['training']['seed'], int(task['pass']), int(task['task']))
        return [records[at] for at in order]

    def _tell(self, kind, segments=(), **fields):
        self._cluster.master(kind, segments, trainer=self._id, **self._task, **fields)

    def _finish(self, **end):
        reply = self._cluster.master('finishTasks', trainer=self._id, ends=[{**self._task, **end}])
        for refused in reply['refused']:
            raise Failure(refused['error']['code'], refused['error']['message'], refused['error']['details'])

    def _report(self, kind, **fields):
        try:
            self._tell(kind, **fields)
        except (Failure, Dropped) as error:
            if isinstance(error, Failure) and error.code not in DROP:
                raise
            say(f'{kind} was not taken: {error}')

    def _leave(self):
        try:
            if self._task is not None:
                self._cluster.master_once('returnTask', trainer=self._id, **self._task, read=self._computed())
        except Failure as failure:
            say(f'the task could not be handed back: {failure}')
        finally:
            self._registration.end()
            self._cluster.close()
            say(f'left after {self._finished} tasks')


def push_to_repeat(failure):
    """Where to go on after a push that was refused; None when the task is closed."""
    field = {'PushOutOfOrder': 'want', 'TooStale': 'push'}.get(failure.code)
    if field is None:
        raise failure
    number = int(failure.details[field])
    return number if number >= 0 else None


def rows_of(records):
    """The ids of the records, each once, in a fixed order."""
    return list(dict.fromkeys(row for record in records for row, _ in record.features))


def find_job(store, chroot):
    """Waits until the store has a job; its chroot and the facts of /job."""
    while True:
        chroots = [chroot] if chroot else store.jobs()
        if len(chroots) > 1:
            raise SystemExit(f'several jobs, choose one with --chroot: {" ".join(chroots)}')
        facts = store.json(f'{chroots[0]}/job') if chroots else None
        if facts is not None:
            return chroots[0], facts
        time.sleep(POLL_SECONDS)


def refuse_others(facts):
    """What this example does not do."""
    if facts['version'] != JOB_VERSION:
        raise SystemExit(f'this client reads jobs of version {JOB_VERSION}, and this one is of {facts["version"]}')
    job = facts['job']
    staleness = job['training'].get('staleness') or {}
    for what, is_so in {
        'a model other than binary lr': (job['model']['type'], job['model'].get('task')) != ('lr', 'binary'),
        'data that is not libsvm': job['data']['format'] != 'libsvm',
        'data of which records are left out': 'split' in job['data'] or 'negativeSampling' in job['data'],
        'weights of classes': 'classWeights' in job['training'],
        'gradients that are clipped': 'maxGradientNorm' in job['training'],
        'sync mode': job['training']['mode'] != 'async',
        'the staleness policy wait': staleness.get('policy') == 'wait',
    }.items():
        if is_so:
            raise SystemExit(f'this client does not work on {what}')


def say(text):
    print(text, file=sys.stderr, flush=True)


def main():
    flags = argparse.ArgumentParser(description=__doc__)
    flags.add_argument('--store', default=os.environ.get('PADDLET_STORE'), help='sqlite:PATH')
    flags.add_argument('--chroot', help='prefix of the job\'s keys, where the store has several jobs')
    flags.add_argument('--data-dir', default=os.environ.get('PADDLET_DATA'), help='where relative data paths start')
    given = flags.parse_args()
    kind, _, path = (given.store or '').partition(':')
    if kind != 'sqlite' or not path:
        flags.error('--store sqlite:PATH is wanted')
    # Raised wherever the trainer waits: it hands its task back on the way out.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(130))
    chroot, facts = find_job(wait_for_store(path), given.chroot)
    refuse_others(facts)
    result = Trainer(path, chroot, facts, given.data_dir).run()
    print(json.dumps(result))
    return 130 if result is None else 1 if 'failed' in result else 0


if __name__ == '__main__':
    sys.exit(main())
