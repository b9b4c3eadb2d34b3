"""The records of a task."""
import functools
import gzip
import os
import zlib

import model
from protocol import Failure

GZIP = b'\x1f\x8b'


class Tasks:
    """`data`: that section of the job."""

    def __init__(self, data_dir, data):
        self._data_dir, self._max_bad_records = data_dir, data['maxBadRecords']
        self._may_have_weight = data['labelWeights']

    def records_of(self, task):
        """One for each position, None where a record is bad."""
        records, bad = [], []
        for chunk in task['chunks']:
            file = task['files'][chunk['file']]
            lines = self._lines(file, chunk)
            for number, line in enumerate(lines, int(chunk['firstRecord']) + 1):
                try:
                    records.append(model.parse_libsvm(line, self._may_have_weight))
                except ValueError as error:
                    records.append(None)
                    bad.append(f'{file["path"]} record {number}: {error}')
        if len(bad) > self._max_bad_records:
            raise Failure('TooManyBadRecords', f'{len(bad)} bad records, {self._max_bad_records} allowed: {bad[0]}')
        return records

    def _lines(self, file, chunk):
        if chunk['records'] == 1 and chunk['bytes'] > model.RECORD_BYTES:
            # A record too long to be read, alone in its chunk: a bad one, for which there is no checksum.
            return [b' ' * int(chunk['bytes'])]
        data = self._bytes(file, int(chunk['offset']), int(chunk['bytes']))
        lines = model.lines_of(data)
        if zlib.crc32(data) != chunk['crc32'] or len(lines) != chunk['records']:
            raise Failure('DataChanged', f'{file["path"]} at {chunk["offset"]} is not what was indexed')
        return lines

    def _bytes(self, file, offset, size):
        path = os.path.join(self._data_dir, file['path'])
        try:
            with open(path, 'rb') as opened:
                if opened.read(2) == GZIP:
                    return inflated(path)[offset:offset + size]
                opened.seek(offset)
                return opened.read(size)
        except OSError as error:
            raise Failure('DataMissing', str(error)) from None


@functools.lru_cache(4)
def inflated(path):
    with gzip.open(path) as opened:
        return opened.read()
