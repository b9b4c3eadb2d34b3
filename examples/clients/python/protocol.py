"""Frames, errors and requests of the protocol (docs/protocol.md)."""
import hmac
import itertools
import os
import queue
import struct
import threading

import cbor2

from websocket import Closed, Refused, WebSocket

SUBPROTOCOL = 'paddlet.v4'
HEAD = struct.Struct('<4sBBHIIII')
MAGIC, VERSION = b'PDLT', 3
REQUEST, REPLY, ERROR, JOIN = 1, 2, 3, 4
TOKEN_BYTES = NONCE_BYTES = 32
ANSWER_SECONDS = 120

# What a trainer does about a code; all others are fatal.
RETRY = {'ConnectionLost', 'RequestTimeout', 'Overloaded', 'NotReady', 'Suspended', 'StoreUnavailable'}
MOVED = {'Draining', 'WrongRole', 'StalePlacement', 'WrongShard', 'JoinRefused'}
DROP = {'AttemptNotLive', 'PassBefore', 'PassAfter'}


class Failure(Exception):
    """An error frame, or what the client makes itself: ConnectionLost, RequestTimeout, WrongVersion."""

    def __init__(self, code, message='', details=None):
        super().__init__(f'{code}: {message}')
        self.code, self.message, self.details = code, message, details or {}


def padding(size):
    return b'\0' * (-size % 8)


def encode_frame(kind, request, header, segments=()):
    text = cbor2.dumps(header)
    lengths = struct.pack(f'<{len(segments)}I', *(len(segment) for segment in segments))
    head_bytes = HEAD.size + len(lengths) + len(text)
    parts = [lengths, text, padding(head_bytes)]
    for segment in segments:
        parts += [segment, padding(len(segment))]
    whole = HEAD.size + sum(len(part) for part in parts)
    return HEAD.pack(MAGIC, VERSION, kind, 0, request, len(text), len(segments), whole) + b''.join(parts)


def decode_frame(frame):
    """(kind, request id, header, segments); ValueError for what breaks the format."""
    if len(frame) < HEAD.size:
        raise ValueError('a frame shorter than its head')
    magic, version, kind, reserved, request, header_bytes, count, whole = HEAD.unpack_from(frame)
    if magic != MAGIC or version != VERSION or reserved != 0 or whole != len(frame) or kind not in (REQUEST, REPLY, ERROR, JOIN):
        raise ValueError('not a frame of this version')
    begin = HEAD.size + 4 * count
    if count > 4096 or header_bytes > 1 << 20 or begin + header_bytes > whole:
        raise ValueError('a frame over its limits')
    lengths = struct.unpack_from(f'<{count}I', frame, HEAD.size)
    header = cbor2.loads(frame[begin:begin + header_bytes])
    segments, at = [], skip_padding(frame, begin + header_bytes)
    for length in lengths:
        segments.append(frame[at:at + length])
        at = skip_padding(frame, at + length)
    if at != whole or not isinstance(header, dict) or not isinstance(header.get('type'), str):
        raise ValueError('lengths of the frame do not fit, or it has no type')
    return kind, request, without_undefined(header), segments


def skip_padding(frame, end):
    begin = end + -end % 8
    if begin > len(frame) or any(frame[end:begin]):
        raise ValueError('padding that is not zero, or a frame that ends too early')
    return begin


def without_undefined(header):
    return {name: value for name, value in header.items() if value is not cbor2.undefined}


class Answer:
    """What comes back for one request."""

    def __init__(self):
        self._box = queue.SimpleQueue()

    def settle(self, value):
        self._box.put(value)

    def wait(self):
        """(header, segments) of the reply; raises what went wrong."""
        try:
            value = self._box.get(timeout=ANSWER_SECONDS)
        except queue.Empty:
            raise Failure('RequestTimeout') from None
        if isinstance(value, Failure):
            raise value
        return value


class Peer:
    """One connection to a role. A thread of its own receives, so pings are answered whatever the trainer does."""

    def __init__(self, address, token):
        self.address = address
        self.is_lost = False
        self._answers = {}
        self._numbers = itertools.count(1)
        self._lock = threading.Lock()
        self._socket = open_socket(address, token)
        threading.Thread(target=self._receive, daemon=True).start()

    def send(self, header, segments=()):
        """Sends a request; wait() of what is returned gives the reply."""
        answer = Answer()
        with self._lock:
            if self.is_lost:
                raise Failure('ConnectionLost', self.address)
            number = next(self._numbers) % 0xffffffff + 1
            self._answers[number] = answer
        try:
            self._socket.send(encode_frame(REQUEST, number, header, segments))
        except OSError as error:
            self._lose(str(error))
        return answer

    def call(self, header, segments=()):
        return self.send(header, segments).wait()

    def close(self):
        self._lose('closed here')

    def _receive(self):
        try:
            while True:
                kind, number, header, segments = decode_frame(self._socket.receive())
                if number == 0:
                    raise Closed(f'{header.get("code")}: {header.get("message")}')
                with self._lock:
                    answer = self._answers.pop(number, None)
                if answer is not None:
                    answer.settle(failure_of(header) if kind == ERROR else (header, segments))
        except (OSError, Closed, ValueError, cbor2.CBORDecodeError) as error:
            self._lose(str(error))

    def _lose(self, why):
        with self._lock:
            self.is_lost = True
            answers, self._answers = self._answers, {}
        self._socket.close()
        for answer in answers.values():
            answer.settle(Failure('ConnectionLost', f'{self.address}: {why}'))


def open_socket(address, token):
    """A connection to a role, once both ends have proved that they know the join token."""
    socket = connect(address)
    try:
        join(socket, address, token)
    except (OSError, Closed, ValueError, cbor2.CBORDecodeError) as error:
        socket.close()
        raise Failure('ConnectionLost', f'{address}: {error}') from None
    except Failure:
        socket.close()
        raise
    return socket


def proof_of(token, who, client_nonce, server_nonce, host):
    label = {'client': b'paddlet.v4 client', 'server': b'paddlet.v4 server'}[who]
    return hmac.new(token, label + client_nonce + server_nonce + host.encode(), 'sha256').digest()


def join(socket, address, token):
    server_nonce = receive_join(socket, 'challenge')['nonce']
    nonce = os.urandom(NONCE_BYTES)
    proof = proof_of(token, 'client', nonce, server_nonce, address)
    socket.send(encode_frame(JOIN, 0, {'type': 'proof', 'nonce': nonce, 'proof': proof}))
    answer = receive_join(socket, 'welcome')['proof']
    if not hmac.compare_digest(answer, proof_of(token, 'server', nonce, server_nonce, address)):
        raise Failure('JoinRefused', f'{address} does not know the join token')


def receive_join(socket, kind):
    frame_kind, _, header, _ = decode_frame(socket.receive())
    if frame_kind == ERROR:
        raise failure_of(header)
    if frame_kind != JOIN or header['type'] != kind:
        raise ValueError(f'no {kind}')
    return header


def connect(address):
    try:
        return WebSocket(address, SUBPROTOCOL)
    except Refused as error:
        status, body = error.args
        if ' 400' in status and body.startswith('subprotocol must be'):
            raise Failure('WrongVersion', body.splitlines()[0]) from None
        raise Failure('ConnectionLost', f'{address}: {status}') from None
    except (OSError, Closed) as error:
        raise Failure('ConnectionLost', f'{address}: {error}') from None


def failure_of(header):
    return Failure(header['code'], header['message'], header.get('details'))
