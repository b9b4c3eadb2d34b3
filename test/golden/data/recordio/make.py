"""Writes the RecordIO files beside it, byte by byte, without any library of RecordIO or snappy: python3 make.py"""
import gzip
import struct
import zlib

RECORDS = [b"1 1:1", b"", b"0 2:1 7:0.5"]
OTHERS = [b"1 1:1 1:1 1:1 1:1\n", b'{"a": 1,\n"b": 2}']


def crc32c(data):
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def masked(data):
    crc = crc32c(data)
    return struct.pack("<I", (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def frame(kind, data):
    return bytes([kind]) + struct.pack("<I", len(data))[:3] + data


def body(records):
    return b"".join(struct.pack("<I", len(record)) + record for record in records)


def chunk(compressor, packed, records):
    return struct.pack("<5I", 0x01020304, zlib.crc32(packed), compressor, len(packed), records) + packed


def literal(data):
    return bytes([(len(data) - 1) << 2]) + data


IDENTIFIER = frame(0xFF, b"sNaPpY")
SKIPPED = frame(0xFE, b"\0\0\0") + frame(0x80, b"unknown")


def plain_frames(data):
    return IDENTIFIER + SKIPPED + frame(0x01, masked(data) + data)


def copied_frames():
    """The first of OTHERS ends in " 1:1" three times more: a literal of 9 + 5 bytes, then a copy of 12 from 4 back."""
    first, second = body(OTHERS[:1]), body(OTHERS[1:])
    assert first[9:21] == first[5:17]
    block = bytes([len(first)]) + literal(first[:9]) + bytes([(12 - 1) << 2 | 2, 4, 0]) + literal(first[21:])
    blocks = frame(0x00, masked(first) + block) + frame(0x00, masked(second) + bytes([len(second)]) + literal(second))
    return IDENTIFIER + blocks + IDENTIFIER


def write(name, *chunks):
    with open(f"{name}.recordio", "wb") as file:
        file.write(b"".join(chunks))


none = chunk(0, body(RECORDS), 3)
write("none", none)
write("snappy", chunk(1, plain_frames(body(RECORDS)), 3))
write("snappy-copy", chunk(1, copied_frames(), 2))
write("gzip", chunk(2, gzip.compress(body(RECORDS), mtime=0), 3))
write("chunks", none, chunk(2, gzip.compress(body(OTHERS), mtime=0), 2), chunk(0, b"", 0), none)
