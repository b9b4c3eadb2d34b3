"""The SQLite store (docs/store-keys.md): reading keys, and a key of our own under a lease."""
import contextlib
import json
import os
import sqlite3
import threading
import time
from collections import namedtuple

APPLICATION_ID, LAYOUT = 1346653268, 2
BUSY_MS = 10_000
POLL_SECONDS = 0.1
Entry = namedtuple('Entry', 'value created modified')


class StoreInvalid(Exception):
    pass


class NotMade(Exception):
    """The file is empty: a process of paddlet is about to make its tables."""


def wait_for_store(path):
    while True:
        try:
            if os.path.exists(path):
                return Store(path)
        except NotMade:
            pass
        time.sleep(POLL_SECONDS)


def open_database(path):
    # Not made when it is missing: only paddlet creates stores. Transactions are begun by hand.
    db = sqlite3.connect(f'file:{path}?mode=rw', uri=True, isolation_level=None, check_same_thread=False)
    db.execute(f'PRAGMA busy_timeout = {BUSY_MS}')
    found = db.execute('PRAGMA application_id').fetchone()[0], db.execute('PRAGMA user_version').fetchone()[0]
    if found != (APPLICATION_ID, LAYOUT):
        db.close()
        if found == (0, 0):
            raise NotMade(path)
        raise StoreInvalid(f'{path} is not a store of this version: application_id and user_version are {found}')
    db.execute('PRAGMA synchronous = FULL')
    return db


class Store:
    """Of one thread."""

    def __init__(self, path):
        self._db = open_database(path)

    def get(self, key):
        row = self._db.execute('SELECT value, create_revision, mod_revision FROM entry WHERE key = ?', [key]).fetchone()
        return None if row is None else Entry(*row)

    def json(self, key):
        entry = self.get(key)
        return None if entry is None else json.loads(entry.value)

    def under(self, *prefixes):
        """The keys under each prefix, without it, all as of one revision."""
        with self._transaction('BEGIN'):
            return [self._list(prefix) for prefix in prefixes]

    def jobs(self):
        """The chroots that have a job, of the form /paddlet/<name>."""
        keys, = self.under('/paddlet/')
        return ['/paddlet/' + key[:-len('/job')] for key in keys if key.endswith('/job') and key.count('/') == 1]

    def register(self, key, value, ttl_ms):
        """Creates the key under a new lease; the lease, or None if the key exists."""
        with self._transaction():
            if self.get(key) is not None:
                return None
            lease, = self._one('INSERT INTO lease (ttl_ms, renewals) VALUES (?, 0) RETURNING id', float(ttl_ms))
            revision = self._next_revision()
            self._db.execute('INSERT INTO entry (key, value, create_revision, mod_revision, lease_id)'
                             ' VALUES (?, ?, ?, ?, ?)', [key, value, revision, revision, lease])
            self._log(revision, key, value, revision, lease)
            return lease

    def renew(self, lease):
        """False when the lease has ended, and its key with it."""
        return self._db.execute('UPDATE lease SET renewals = renewals + 1 WHERE id = ?', [lease]).rowcount == 1

    def end(self, lease, key):
        with self._transaction():
            if self._db.execute('DELETE FROM lease WHERE id = ?', [lease]).rowcount == 0:
                return
            self._db.execute('DELETE FROM entry WHERE lease_id = ? AND key = ?', [lease, key])
            self._log(self._next_revision(), key, None, 0, 0)

    def close(self):
        self._db.close()

    def _list(self, prefix):
        end = prefix[:-1] + chr(ord(prefix[-1]) + 1)
        rows = self._db.execute('SELECT key, value, create_revision, mod_revision FROM entry'
                                ' WHERE key >= ? AND key < ? ORDER BY key', [prefix, end])
        return {key[len(prefix):]: Entry(*rest) for key, *rest in rows}

    def _one(self, statement, *values):
        # To its end: a statement with RETURNING that is not read to its end holds the transaction open.
        return self._db.execute(statement, values).fetchall()[0]

    def _next_revision(self):
        return self._one('UPDATE meta SET revision = revision + 1 RETURNING revision')[0]

    def _log(self, revision, key, value, created, lease):
        size = 64 + len(key.encode()) + len((value or '').encode())
        self._db.execute('INSERT INTO event (revision, seq, key, value, create_revision, lease_id, bytes)'
                         ' VALUES (?, 0, ?, ?, ?, ?, ?)', [revision, key, value, created, lease, size])

    @contextlib.contextmanager
    def _transaction(self, begin='BEGIN IMMEDIATE'):
        self._db.execute(begin)
        try:
            yield
        except BaseException:
            self._db.execute('ROLLBACK')
            raise
        self._db.execute('COMMIT')


class Registration:
    """A key under a lease that a thread renews; registered again under the same name when the lease was lost."""

    def __init__(self, path, key, value, ttl_ms):
        self._path, self._key, self._value, self._ttl_ms = path, key, value, ttl_ms
        self._leaving = threading.Event()
        self._registered = threading.Event()
        self._thread = threading.Thread(target=self._keep, daemon=True)
        self._thread.start()
        self._registered.wait()

    def end(self):
        self._leaving.set()
        self._thread.join()

    def _keep(self):
        store, lease = Store(self._path), None
        while True:
            try:
                if lease is None or not store.renew(lease):
                    lease = store.register(self._key, self._value, self._ttl_ms)
                if lease is not None:
                    self._registered.set()
            except sqlite3.OperationalError:
                # Busy for long: the next try comes soon enough, or the trainer registers again.
                pass
            if self._leaving.wait(self._ttl_ms / 3000):
                break
        if lease is not None:
            store.end(lease, self._key)
        store.close()
