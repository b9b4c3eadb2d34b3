"""The client's end of a WebSocket (RFC 6455): no extensions, binary messages only."""
import base64
import hashlib
import os
import socket
import struct
import threading

GUID = b'258EAFA5-E914-47DA-95CA-C5AB0DC85B11'
CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0, 1, 2, 8, 9, 10
FRAGMENT_BYTES = 4 << 20
MESSAGE_BYTES = 256 << 20
# Roles ping every 3 s, so a socket that is silent for 4 intervals is dead.
SILENCE_SECONDS = 12


class Closed(Exception):
    """The connection has ended, or must be ended."""


class Refused(Closed):
    """The handshake was answered with something else than 101; `args` has the answer's first line and body."""


def masked(payload, key):
    """XOR with the key repeated: over whole integers, as loops over bytes are slow in Python."""
    repeated = (key * (len(payload) // 4 + 1))[:len(payload)]
    number = int.from_bytes(payload, 'little') ^ int.from_bytes(repeated, 'little')
    return number.to_bytes(len(payload), 'little')


class WebSocket:
    def __init__(self, address, protocol):
        host, _, port = address.rpartition(':')
        self._socket = socket.create_connection((host.strip('[]'), int(port)), timeout=SILENCE_SECONDS)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._input = self._socket.makefile('rb')
        # The receiving thread sends pongs, other threads send messages.
        self._sending = threading.Lock()
        try:
            self._handshake(address, protocol)
        except BaseException:
            self.close()
            raise

    def send(self, message):
        """Sends one binary message, in fragments if it is long."""
        view = memoryview(message)
        pieces = [view[at:at + FRAGMENT_BYTES] for at in range(0, len(view), FRAGMENT_BYTES)] or [view]
        with self._sending:
            for number, piece in enumerate(pieces):
                self._send_frame(BINARY if number == 0 else CONTINUATION, bytes(piece), number == len(pieces) - 1)

    def receive(self):
        """The next binary message. Answers pings while it waits; raises Closed at the end of the connection."""
        pieces, received = [], 0
        while True:
            opcode, is_last, payload = self._receive_frame(MESSAGE_BYTES - received)
            if opcode >= CLOSE:
                self._take_control(opcode, payload)
                continue
            if (opcode == CONTINUATION) != bool(pieces) or opcode not in (BINARY, CONTINUATION):
                raise Closed(f'unexpected opcode {opcode}')
            pieces.append(payload)
            received += len(payload)
            if is_last:
                return b''.join(pieces)

    def close(self):
        try:
            # Ends a receive() of another thread, which close() would not.
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._socket.close()

    def _handshake(self, address, protocol):
        key = base64.b64encode(os.urandom(16))
        lines = ['GET / HTTP/1.1', f'Host: {address}', 'Upgrade: websocket', 'Connection: Upgrade',
                 f'Sec-WebSocket-Key: {key.decode()}', 'Sec-WebSocket-Version: 13',
                 f'Sec-WebSocket-Protocol: {protocol}', '', '']
        self._socket.sendall('\r\n'.join(lines).encode())
        status = self._line()
        headers = {}
        while line := self._line():
            name, _, value = line.partition(':')
            headers[name.strip().lower()] = value.strip()
        if status.split(' ')[1:2] != ['101']:
            raise Refused(status, self._input.read(int(headers.get('content-length', 0))).decode(errors='replace'))
        accept = base64.b64encode(hashlib.sha1(key + GUID).digest()).decode()
        if headers.get('sec-websocket-accept') != accept or headers.get('sec-websocket-protocol') != protocol:
            raise Closed('the answer to the handshake is not that of a role')

    def _line(self):
        line = self._input.readline(65536)
        if not line.endswith(b'\n'):
            raise Closed('the connection ended in the handshake')
        return line.strip().decode('latin-1')

    def _send_frame(self, opcode, payload, is_last=True):
        size = len(payload)
        first = opcode | (0x80 if is_last else 0)
        if size < 126:
            head = struct.pack('>BB', first, 0x80 | size)
        elif size < 65536:
            head = struct.pack('>BBH', first, 0x80 | 126, size)
        else:
            head = struct.pack('>BBQ', first, 0x80 | 127, size)
        key = os.urandom(4)
        self._socket.sendall(head + key + masked(payload, key))

    def _receive_frame(self, room):
        first, second = self._exactly(2)
        opcode, size, is_last = first & 0x0f, second & 0x7f, bool(first & 0x80)
        if first & 0x70 or second & 0x80:
            raise Closed('reserved bits or a masked frame from a server')
        if opcode >= CLOSE and (size > 125 or not is_last):
            raise Closed('a control frame that is long or in fragments')
        if size == 126:
            size, = struct.unpack('>H', self._exactly(2))
        elif size == 127:
            size, = struct.unpack('>Q', self._exactly(8))
        if size > room:
            raise Closed('a message over 256 MiB')
        return opcode, is_last, self._exactly(size)

    def _take_control(self, opcode, payload):
        if opcode == PING:
            with self._sending:
                self._send_frame(PONG, payload)
        elif opcode == CLOSE:
            with self._sending:
                self._send_frame(CLOSE, payload[:2])
            raise Closed('closed by the peer: ' + payload[2:].decode(errors='replace'))
        elif opcode != PONG:
            raise Closed(f'unexpected opcode {opcode}')

    def _exactly(self, size):
        data = self._input.read(size)
        if len(data) != size:
            raise Closed('the connection ended')
        return data
