"""Makes the files beside it: `pip install pyarrow==25.0.1`, then `python make.py` in this folder."""

import datetime as dt
import decimal
import uuid

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

D = decimal.Decimal
UTC = dt.timezone.utc

TYPES = pa.table({
    'i64': pa.array([2**53 + 1, -2**63, None, 0, 2**63 - 1, 7], pa.int64()),
    'u64': pa.array([2**64 - 1, 0, 1, None, 2**63, 5], pa.uint64()),
    'i32': pa.array([-2**31, 2**31 - 1, 0, 1, 1, None], pa.int32()),
    'u32': pa.array([2**32 - 1, 0, 5, 5, None, 5], pa.uint32()),
    'i8': pa.array([-128, 127, None, 0, 1, 2], pa.int8()),
    'u8': pa.array([255, 0, None, 1, 2, 3], pa.uint8()),
    'f64': pa.array([0.1, -0.0, None, float('inf'), 1e300, 0.1], pa.float64()),
    'f32': pa.array([0.5, -1.5, 1e-40, None, float('-inf'), 0.5], pa.float32()),
    'f16': pa.array([np.float16(0.5), np.float16(-2), None, np.float16(65504), np.float16(0), np.float16(1)], pa.float16()),
    'flag': pa.array([True, False, None, True, True, False], pa.bool_()),
    'text': pa.array(['Oslo', '', None, 'Zürich', 'Oslo', 'x' * 40], pa.string()),
    'raw': pa.array([b'\x00\xff', b'', None, b'a', b'b', b'\x00\xff'], pa.binary()),
    'fixed': pa.array([b'abc', b'def', None, b'abc', b'ghi', b'abc'], pa.binary(3)),
    'day': pa.array([dt.date(1970, 1, 2), dt.date(1969, 12, 31), None, dt.date(2024, 2, 29), dt.date(1, 1, 1), dt.date(9999, 12, 31)], pa.date32()),
    'ms': pa.array([1, -1, None, 1704067199999, 0, 1], pa.timestamp('ms', 'UTC')),
    'us': pa.array([1, -1, None, 1704067199999999, 0, 1], pa.timestamp('us')),
    'ns': pa.array([1, -1, None, 1704067199999999999, 0, 1], pa.timestamp('ns', 'UTC')),
    'clock_ms': pa.array([0, 86399999, None, 1, 2, 3], pa.time32('ms')),
    'clock_us': pa.array([0, 86399999999, None, 1, 2, 3], pa.time64('us')),
    'd9': pa.array([D('1234567.89'), D('-0.01'), None, D('0.00'), D('1.00'), D('-9999999.99')], pa.decimal128(9, 2)),
    'd18': pa.array([D('123456789012345.678'), D('-0.001'), None, D('0.000'), D('1.000'), D('-999999999999999.999')], pa.decimal128(18, 3)),
    'd38': pa.array([D('1' * 34 + '.5678'), D('-0.0001'), None, D('0.0000'), D('1.0000'), D('-' + '9' * 34 + '.9999')], pa.decimal128(38, 4)),
    'nothing': pa.array([None] * 6, pa.int32()),
    'id': pa.array([uuid.UUID(int=n + 2**120).bytes for n in range(6)], pa.uuid()),
})

NESTED = pa.table({
    'numbers': pa.array([[1, 2**53 + 1, None], [], None, [3], [4, 4, 4, 4], [None]], pa.list_(pa.int64())),
    'tags': pa.array([['a', 'b'], None, ['a'], [], [None, 'c'], ['b', 'a']], pa.list_(pa.string())),
    'who': pa.array(
        [{'age': 1, 'name': 'ann'}, None, {'age': None, 'name': 'bob'}, {'age': 4, 'name': None}, {'age': 5, 'name': 'ann'}, {'age': 6, 'name': 'eve'}],
        pa.struct([('age', pa.int32()), ('name', pa.string())])),
    'deep': pa.array(
        [{'list': [1]}, {'list': None}, None, {'list': []}, {'list': [2, 3]}, {'list': [None]}],
        pa.struct([('list', pa.list_(pa.int32()))])),
    'map': pa.array([[('k', 1)], [], None, [], [], []], pa.map_(pa.string(), pa.int32())),
    'lists': pa.array([[[1]], [], None, [], [], []], pa.list_(pa.list_(pa.int32()))),
    'structs': pa.array([[{'a': 1}], [], None, [], [], []], pa.list_(pa.struct([('a', pa.int32())]))),
})

REQUIRED = pa.table(
    [pa.array([5, 6, 5], pa.int64()), pa.array(['a', 'b', 'a']), pa.array([[1, 2], [3], []], pa.list_(pa.field('element', pa.int32(), False)))],
    schema=pa.schema([
        pa.field('number', pa.int64(), False),
        pa.field('text', pa.string(), False),
        pa.field('list', pa.list_(pa.field('element', pa.int32(), False)), False),
    ]))

ROWS = range(1000)
MANY = pa.table({
    'small': pa.array([i % 7 for i in ROWS], pa.int32()),
    'falling': pa.array([2**31 - 1 if i % 2 == 0 else -2**31 for i in ROWS], pa.int32()),
    'large': pa.array([(i * 0x9E3779B97F4A7C15 + 2**63) % 2**64 - 2**63 for i in ROWS], pa.int64()),
    'rising': pa.array([None if i % 10 == 3 else 10**12 + 1000 * i for i in ROWS], pa.int64()),
    'half': pa.array([i / 2 for i in ROWS], pa.float64()),
    'single': pa.array([None if i % 3 == 0 else i / 4 for i in ROWS], pa.float32()),
    'text': pa.array([f'user {i}' for i in ROWS]),
    'sorted': pa.array([None if i % 100 == 99 else f'key {i:05}' for i in ROWS]),
    'city': pa.array([f'city {i % 3}' for i in ROWS]),
    'flag': pa.array([i % 5 == 0 for i in ROWS]),
    'list': pa.array([[i] * (i % 4) for i in ROWS], pa.list_(pa.int32())),
})


def write(name, table, **how):
    pq.write_table(table, f'{name}.parquet', **{'store_schema': False, 'compression': 'none', 'write_statistics': False, **how})


write('types-v1-plain', TYPES, use_dictionary=False, write_page_checksum=True)
write('types-v1-dictionary', TYPES, compression='snappy', write_page_checksum=True, write_statistics=True)
write('types-v2-plain', TYPES, use_dictionary=False, data_page_version='2.0', compression='zstd', write_page_checksum=True)
write('types-v2-dictionary', TYPES, data_page_version='2.0', compression='gzip')
write('types-integer-decimals', TYPES.select(['d9', 'd18', 'd38']), store_decimal_as_integer=True)
write('nested-v1', NESTED)
write('nested-v2-plain', NESTED, use_dictionary=False, data_page_version='2.0', compression='brotli', use_compliant_nested_type=False)
write('required', REQUIRED, use_dictionary=['text'])
write('empty', TYPES.slice(0, 0), compression='snappy')
write('no-columns', pa.table({}))
INT96 = [0, 1000, None, 1704067199999999000, -1000]
write('int96', pa.table({'when': pa.array(INT96, pa.timestamp('ns'))}), use_deprecated_int96_timestamps=True)
DELTAS = {name: 'DELTA_BINARY_PACKED' for name in ['small', 'falling', 'large', 'rising']}
SPLIT = {name: 'BYTE_STREAM_SPLIT' for name in ['half', 'single']}
TEXTS = {'text': 'DELTA_LENGTH_BYTE_ARRAY', 'sorted': 'DELTA_BYTE_ARRAY', 'city': 'DELTA_BYTE_ARRAY', 'flag': 'RLE'}
write('many-encodings', MANY, use_dictionary=False, column_encoding={**DELTAS, **SPLIT, **TEXTS}, data_page_version='2.0', compression='lz4')
SMALL = {'row_group_size': 400, 'data_page_size': 256, 'write_batch_size': 32, 'max_rows_per_page': 100}
# The dictionary is soon full: what follows is not in it.
write('many-pages', MANY, dictionary_pagesize_limit=300, compression='snappy', **SMALL)
