/**
 * Cases of the Autobahn test suite, by their numbers, against paddlet's own reader and its own end of a connection. The
 * reader gets text and binary messages alike; a role takes binary messages only, so its cases send those. Of 9 the
 * sizes are reduced;
 * 12 and 13 are about compression, which is never agreed.
 */
import { describe, expect, it } from 'vitest';
import { readClose, Violation } from '../../../src/protocol/websocket/frames.ts';
import { WebSocketReader } from '../../../src/protocol/websocket/reader.ts';
import { infoReply, rig } from '../rig.ts';
import { everythingFrom, frameBytes, joinedTcp } from '../stranger.ts';
import { chopped, closeFrame, fragments, frame, linesOf } from './autobahn-frames.ts';

type Case = readonly [id: string, sent: readonly Buffer[], expected: readonly string[]];

const octets = (...frames: Buffer[]): Buffer[] => chopped(Buffer.concat(frames), 1);
const star = (n: number): string => '*'.repeat(n);
const message = (kind: 'text' | 'binary', payload: string): string =>
  `${kind} ${payload.length} ${payload.slice(0, 8)}`;
const FAILED = 'fail 1002';

/** What a server's reader makes of the bytes, fed in these pieces. */
function transcript(sent: readonly Buffer[]): string[] {
  const lines: string[] = [];
  let kind: 'text' | 'binary' = 'text';
  let payload = '';
  const reader = new WebSocketReader({
    side: 'server',
    maxMessageBytes: 2 ** 24,
    sink: {
      begin: (isBinary) => {
        kind = isBinary ? 'binary' : 'text';
        payload = '';
      },
      write: (bytes) => {
        payload += Buffer.from(bytes).toString('latin1');
      },
      room: () => undefined,
      filled: () => {},
      end: () => void lines.push(message(kind, payload)),
    },
    onControl: (opcode, bytes) => {
      if (opcode === 8) {
        reader.stop();
        lines.push(`close ${readClose(bytes).code}`);
      } else {
        lines.push(`${opcode === 9 ? 'ping' : 'pong'} ${Buffer.from(bytes).toString('latin1')}`);
      }
    },
  });
  try {
    for (const piece of sent) reader.feed(Buffer.from(piece));
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    lines.push(`fail ${error.closeCode}`);
  }
  return lines;
}

const SIZES = [0, 125, 126, 127, 128, 65_535, 65_536];
const framing: Case[] = (['text', 'binary'] as const).flatMap((kind, k) => [
  ...SIZES.map((n, i): Case => [`1.${k + 1}.${i + 1}`, [frame(kind, star(n))], [message(kind, star(n))]]),
  [`1.${k + 1}.8`, chopped(frame(kind, star(65_536)), 997), [message(kind, star(65_536))]] satisfies Case,
]);

const tenPings = Array.from({ length: 10 }, (_, i) => frame('ping', `payload-${i}`));
const tenPayloads = Array.from({ length: 10 }, (_, i) => `ping payload-${i}`);
const pings: Case[] = [
  ['2.1', [frame('ping')], ['ping ']],
  ['2.2', [frame('ping', 'Hello, world!')], ['ping Hello, world!']],
  ['2.3', [frame('ping', Buffer.from([0, 255, 254, 253, 252, 251, 0, 255]))], ['ping \0\xff\xfe\xfd\xfc\xfb\0\xff']],
  ['2.4', [frame('ping', star(125))], [`ping ${star(125)}`]],
  ['2.5', [frame('ping', star(126))], [FAILED]],
  ['2.6', octets(frame('ping', star(125))), [`ping ${star(125)}`]],
  ['2.7', [frame('pong')], ['pong ']],
  ['2.8', [frame('pong', 'unsolicited')], ['pong unsolicited']],
  ['2.9', [frame('pong', 'unsolicited'), frame('ping', 'p')], ['pong unsolicited', 'ping p']],
  ['2.10', tenPings, tenPayloads],
  ['2.11', octets(...tenPings), tenPayloads],
];

const hello = frame('text', 'Hello');
const greeted = message('text', 'Hello');
const reserved: Case[] = [
  ['3.1', [frame('text', 'Hello', { rsv: 1 })], [FAILED]],
  ['3.2', [hello, frame('text', 'Hello', { rsv: 2 }), frame('ping')], [greeted, FAILED]],
  ['3.3', [hello, frame('text', 'Hello', { rsv: 3 }), frame('ping')], [greeted, FAILED]],
  ['3.4', octets(hello, frame('text', 'Hello', { rsv: 4 }), frame('ping')), [greeted, FAILED]],
  ['3.5', [frame('binary', '\0\xff', { rsv: 5 })], [FAILED]],
  ['3.6', [frame('ping', 'Hello', { rsv: 6 })], [FAILED]],
  ['3.7', [frame('close', '', { rsv: 7 })], [FAILED]],
];

/** The third to fifth of either kind come after a message that is well-formed. */
const opcodes: Case[] = [3, 4, 5, 6, 7, 11, 12, 13, 14, 15].map((opcode, i): Case => {
  const n = (i % 5) + 1;
  const bad = frame(opcode, n === 1 || n === 3 ? '' : 'reserved');
  const sent = n < 3 ? [bad] : n === 5 ? octets(hello, bad, frame('ping')) : [hello, bad, frame('ping')];
  return [`4.${i < 5 ? 1 : 2}.${n}`, sent, n < 3 ? [FAILED] : [greeted, FAILED]];
});

const two = fragments('text', 'fragment1', 'fragment2');
const joined = message('text', 'fragment1fragment2');
const within = [two[0]!, frame('ping', 'ping'), two[1]!];
const nothingToContinue = (fin: boolean): Buffer[] => [frame('continuation', 'non-cont', { fin }), hello];
const five = fragments('text', ...[1, 2, 3, 4, 5].map((i) => `fragment${i}`));
const fiveWithPings = [...five.slice(0, 2), frame('ping', '1'), ...five.slice(2, 4), frame('ping', '2'), five[4]!];
const fiveRead = ['ping 1', 'ping 2', message('text', [1, 2, 3, 4, 5].map((i) => `fragment${i}`).join(''))];
const unfinished = (fin: boolean): Buffer[] =>
  [1, 2].flatMap(() => [frame('continuation', 'fragment1', { fin }), ...fragments('text', 'fragment2', 'fragment3')]);
const fragmentation: Case[] = [
  ['5.1', [frame('ping', 'fragment1', { fin: false }), frame('continuation', 'fragment2')], [FAILED]],
  ['5.2', [frame('pong', 'fragment1', { fin: false }), frame('continuation', 'fragment2')], [FAILED]],
  ['5.3', [Buffer.concat(two)], [joined]],
  ['5.4', two, [joined]],
  ['5.5', octets(...two), [joined]],
  ['5.6', [Buffer.concat(within)], ['ping ping', joined]],
  ['5.7', within, ['ping ping', joined]],
  ['5.8', octets(...within), ['ping ping', joined]],
  ['5.9', [Buffer.concat(nothingToContinue(true))], [FAILED]],
  ['5.10', nothingToContinue(true), [FAILED]],
  ['5.11', octets(...nothingToContinue(true)), [FAILED]],
  ['5.12', [Buffer.concat(nothingToContinue(false))], [FAILED]],
  ['5.13', nothingToContinue(false), [FAILED]],
  ['5.14', octets(...nothingToContinue(false)), [FAILED]],
  ['5.15', [...two, ...nothingToContinue(false)], [joined, FAILED]],
  ['5.16', unfinished(false), [FAILED]],
  ['5.17', unfinished(true), [FAILED]],
  ['5.18', [frame('text', 'fragment1', { fin: false }), frame('text', 'fragment2')], [FAILED]],
  ['5.19', fiveWithPings, fiveRead],
  ['5.20', octets(...fiveWithPings), fiveRead],
];

const VALID_CODES = [1000, 1001, 1002, 1003, 1007, 1008, 1009, 1010, 1011, 3000, 3999, 4000, 4999];
const INVALID_CODES = [0, 999, 1004, 1005, 1006, 1016, 1100, 2000, 2999];
const closing: Case[] = [
  ['7.3.1', [frame('close')], ['close 1005']],
  ['7.3.2', [frame('close', 'a')], [FAILED]],
  ['7.3.3', [closeFrame(1000)], ['close 1000']],
  ['7.3.4', [closeFrame(1000, 'Hello World!')], ['close 1000']],
  ['7.3.5', [closeFrame(1000, star(123))], ['close 1000']],
  ['7.3.6', [closeFrame(1000, star(124))], [FAILED]],
  ['7.5.1', [closeFrame(1000, Buffer.from('cebae1bdb9cf83cebcceb5eda080656469746564', 'hex'))], ['fail 1007']],
  ...VALID_CODES.map((code, i): Case => [`7.7.${i + 1}`, [closeFrame(code)], [`close ${code}`]]),
  ...INVALID_CODES.map((code, i): Case => [`7.9.${i + 1}`, [closeFrame(code)], [FAILED]]),
  ['7.13.1', [closeFrame(5000)], [FAILED]],
  ['7.13.2', [closeFrame(65_535)], [FAILED]],
];

const KiB = 1024;
const sizes: Case[] = (['text', 'binary'] as const).flatMap((kind, k) => {
  const whole = star(256 * KiB);
  const pieces = (size: number): string[] => Array.from({ length: whole.length / size }, () => star(size));
  return [
    ...[64, 256, 1024].map((n, i): Case => {
      const payload = star(n * KiB);
      return [`9.${k + 1}.${i + 1}`, [frame(kind, payload)], [message(kind, payload)]];
    }),
    ...[64, 256, 1024, 4096, 16_384, 65_536].map(
      (size, i): Case => [`9.${k + 3}.${i + 1}`, fragments(kind, ...pieces(size)), [message(kind, whole)]],
    ),
    ...[64, 128, 256, 512, 1024, 2048].map(
      (size, i): Case => [`9.${k + 5}.${i + 1}`, chopped(frame(kind, whole), size), [message(kind, whole)]],
    ),
  ];
});

describe('Autobahn, at the reader', () => {
  it.each([...framing, ...pings, ...reserved, ...opcodes, ...fragmentation, ...closing, ...sizes])(
    '%s',
    (_id, sent, expected) => {
      expect(transcript(sent)).toEqual(expected);
    },
  );
});

const request = Buffer.from(frameBytes({}));
const asMessage = frame('binary', request);
const halves = fragments('binary', request.subarray(0, 20), request.subarray(20));
const bye = closeFrame(1000);

/** Each connection ends with the last line: the server closes it. */
const atRole: Case[] = [
  ['1.2', [asMessage, bye], ['binary', 'close 1000']],
  ['2.1', [frame('ping'), bye], ['pong ', 'close 1000']],
  ['2.4', [frame('ping', star(125)), bye], [`pong ${star(125)}`, 'close 1000']],
  ['2.5', [frame('ping', star(126))], ['close 1002']],
  ['2.9', [frame('pong', 'unsolicited'), frame('ping', 'p'), bye], ['pong p', 'close 1000']],
  ['3.2', [asMessage, frame('binary', request, { rsv: 2 }), frame('ping')], ['binary', 'close 1002']],
  ['3.7', [frame('close', '', { rsv: 7 })], ['close 1002']],
  ['4.1.3', [asMessage, frame(5), frame('ping')], ['binary', 'close 1002']],
  ['4.2.1', [frame(11)], ['close 1002']],
  ['5.1', [frame('ping', 'a', { fin: false }), frame('continuation', 'b')], ['close 1002']],
  ['5.3', [...halves, bye], ['binary', 'close 1000']],
  ['5.6', [halves[0]!, frame('ping', 'in'), halves[1]!, bye], ['pong in', 'binary', 'close 1000']],
  ['5.9', [frame('continuation', request), asMessage], ['close 1002']],
  ['5.18', [frame('binary', request, { fin: false }), asMessage], ['close 1002']],
  // Text, valid UTF-8 or not, is never taken: an error answer, and a close frame.
  ['6.1.1', [frame('text')], ['binary', 'close 1002']],
  ['6.2.1', [frame('text', 'Hello-µ@ßöäüàá-UTF-8!!')], ['binary', 'close 1002']],
  ['6.3.1', [frame('text', Buffer.from('cebae1bdb9cf83cebcceb5eda080656469746564', 'hex'))], ['binary', 'close 1002']],
  ['6.4.1', [frame('text', 'κόσμε', { fin: false })], ['binary', 'close 1002']],
  ['7.1.1', [asMessage, bye], ['binary', 'close 1000']],
  ['7.1.2', [bye, bye], ['close 1000']],
  ['7.1.3', [bye, frame('ping')], ['close 1000']],
  ['7.1.4', [bye, asMessage], ['close 1000']],
  ['7.1.5', [halves[0]!, bye, halves[1]!], ['close 1000']],
  [
    '7.1.6',
    [frame('binary', frameBytes({ segments: [new Uint8Array(256 * KiB)] })), bye, frame('ping')],
    ['binary', 'close 1000'],
  ],
  ['7.3.1', [frame('close')], ['close']],
  ['7.3.2', [frame('close', 'a')], ['close 1002']],
  ['7.3.5', [closeFrame(1000, star(123))], ['close 1000']],
  ['7.3.6', [closeFrame(1000, star(124))], ['close 1002']],
  ['7.5.1', [closeFrame(1000, Buffer.from('eda080', 'hex'))], ['close 1007']],
  ['7.7.13', [closeFrame(4999)], ['close 4999']],
  ['7.9.1', [closeFrame(0)], ['close 1002']],
  ['7.13.2', [closeFrame(65_535)], ['close 1002']],
];

describe.each(['direct', 'data'] as const)('Autobahn, at a role that receives by %s', (receive) => {
  it.each(atRole)('%s', async (_id, sent, expected) => {
    const { server } = await rig({ handler: () => infoReply, receive });
    for (const pieces of [sent, chopped(Buffer.concat(sent), 1)].slice(0, sent.some((p) => p.length > KiB) ? 1 : 2)) {
      const socket = await joinedTcp(server.port);
      const all = everythingFrom(socket);
      for (const piece of pieces) socket.write(piece);
      expect(linesOf(Buffer.from(await all, 'latin1'))).toEqual(expected);
    }
  });
});
