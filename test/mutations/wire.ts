/** Rules of the wire. */
import type { Mutation } from './mutation.ts';

const CONNECTION = 'src/roles/pserver/transfer/move-connection.ts';
const CONNECTION_TESTS = ['test/roles/pserver/transfer/move-connection.test.ts'];
const PIECES = 'src/roles/pserver/transfer/copy-pieces.ts';
const UPDATES = 'src/roles/pserver/update/codec.ts';
const CODEC_TESTS = ['test/roles/pserver/transfer/move-codec.test.ts'];

export const WIRE: readonly Mutation[] = [
  {
    rule: 'before joining, who sends too large a message is told so',
    file: 'src/protocol/websocket/socket-link.ts',
    find: 'if (!this.#hasJoined && violation',
    replace: 'if (false && violation',
    tests: ['test/protocol/join'],
  },
  {
    rule: 'a pull waits for the pushes before it',
    file: 'src/protocol/websocket/server-session.ts',
    find: 'request.type === passed.type && ',
    replace: '',
    tests: ['test/protocol/websocket/order.test.ts'],
  },
  {
    rule: 'so many pushes of a connection wait for their copies at a time',
    file: 'src/protocol/websocket/server-session.ts',
    find: ' && this.#passed.size < this.#wire.limits.passingRequests',
    replace: '',
    tests: ['test/protocol/websocket/order.test.ts'],
  },
  {
    rule: 'pushes behind one that waits for its copies begin',
    file: 'src/roles/pserver/modes/tasks/push-pull.ts',
    find: '    request.letPass?.();\n',
    replace: '',
    tests: ['test/roles/pserver/modes/tasks/push-pull.test.ts'],
  },
  {
    rule: 'frames of joining have no request id',
    file: 'src/protocol/join/frames.ts',
    find: 'if (frame.requestId !== 0) ',
    replace: 'if (false) ',
    tests: ['test/protocol/join'],
  },
  {
    rule: 'before joining, a message that is announced as larger than joining needs is refused',
    file: 'src/protocol/websocket/socket-link.ts',
    find: 'maxMessageBytes: JOIN_LIMITS.frameBytes,',
    replace: 'maxMessageBytes: options.limits.frameBytes,',
    tests: ['test/protocol/join'],
  },
  {
    rule: 'a move counts as connected only once its target has answered a request that passes the checks of all others',
    file: CONNECTION,
    find: "const header = { type: 'openMove' as const, ...job };",
    replace: "const header = { type: 'info' as const };",
    tests: CONNECTION_TESTS,
  },
  {
    rule: 'an error that may pass ends the connection of a move, and the source sends again',
    file: CONNECTION,
    find: 'connection.lose();\n      return [];',
    replace: 'return [];',
    tests: CONNECTION_TESTS,
  },
  {
    rule: 'an error that a repeat of a message of a move cannot help is a refusal',
    file: CONNECTION,
    find: "if (error.action === 'fatal') return [refusedFor(message, error)];",
    replace: '',
    tests: CONNECTION_TESTS,
  },
  {
    rule: 'what a move carries stays valid when its request is gone',
    file: 'src/roles/pserver/transfer/move-codec.ts',
    find: 'ownUpdate(decodeUpdate(job, update, arrived))',
    replace: 'decodeUpdate(job, update, arrived)',
    tests: CODEC_TESTS,
  },
  {
    rule: 'a piece of a shard stays valid when its request is gone',
    file: PIECES,
    find: 'segments: arrived.map((segment) => segment.slice())',
    replace: 'segments: arrived',
    tests: CODEC_TESTS,
  },
  {
    rule: 'a pass or task of a forwarded push is one of the job',
    file: UPDATES,
    find: 'checkTask(job, header.pass, header.task);',
    replace: '',
    tests: CODEC_TESTS,
  },
  {
    rule: 'a message of a move names a unit of the job',
    file: 'src/roles/pserver/transfer/move-codec.ts',
    find: 'if (move.unit >= job.units) throw',
    replace: 'if (move.unit < 0) throw',
    tests: CODEC_TESTS,
  },
  {
    rule: 'a forwarded push scales a rate only where the optimizer has one',
    file: 'src/roles/pserver/held/held.ts',
    find: 'if (update.rateScale !== 1 && !this.#hasRate())',
    replace: 'if (update.rateScale === 0 && !this.#hasRate())',
    tests: ['test/roles/pserver/transfer/hostile-copy.test.ts'],
  },
];
