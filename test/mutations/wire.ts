/** Rules of the wire. */
import type { Mutation } from './mutation.ts';

export const WIRE: readonly Mutation[] = [
  {
    rule: 'before joining, a message that is announced as larger than joining needs is refused',
    file: 'src/protocol/websocket/socket-link.ts',
    find: 'maxMessageBytes: JOIN_LIMITS.frameBytes,',
    replace: 'maxMessageBytes: options.limits.frameBytes,',
    tests: ['test/protocol/join'],
  },
];
