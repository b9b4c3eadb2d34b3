/** What each message of a simulated cluster costs its ends, and how long it would be with the ids of a real push. */

import { isPaddletError } from '../../../src/base/errors.ts';
import { encodeFrame } from '../../../src/protocol/frames/frame.ts';
import type { RequestHeader } from '../../../src/protocol/messages/all-messages.ts';
import type { Cargo } from '../../../test/sim/parcel.ts';
import type { SimulatedProcess } from '../../../test/sim/process.ts';
import {
  ANSWER_HEADER_BYTES,
  FLOAT_BYTES,
  ID_BYTES,
  MASTER_REQUESTS_A_TASK,
  PUSH_HEADER_BYTES,
  SHAPE,
} from './constants.ts';
import type { Demand } from './demand.ts';
import type { MessageCosts } from './links.ts';

/** A header that is not one of a push: its length is looked at once. */
const lengths = new Map<string, number>();

export function messageCostsOf(demand: Demand, pservers: number): MessageCosts {
  const { tables, floats } = SHAPE[demand.row];
  // Share of the pull in the sent bytes: a push names its ids and those of the pull.
  const pullShare = (ID_BYTES * tables) / (2 * ID_BYTES * tables + FLOAT_BYTES * floats);
  const requestBytes = ({ pulls, pushes }: Exchange): number =>
    (demand.sentBytes / pservers) * ((pulls ? pullShare : 0) + (pushes ? 1 - pullShare : 0));
  /** Looking up is half of it, updating the other. */
  const pserverMs = ({ pulls, pushes }: Exchange): number => {
    const share = (pulls ? 0.5 : 0) + (pushes ? 0.5 : 0);
    return (demand.message.pserver + (share * demand.pserverMicros) / pservers) / 1000;
  };
  return {
    bytesOf(cargo) {
      const exchange = exchangeOf(cargo.request);
      if (exchange === undefined) return cargo.payloadBytes + headerBytes(cargo);
      if (cargo.answer === undefined) return PUSH_HEADER_BYTES + requestBytes(exchange);
      return ANSWER_HEADER_BYTES + (exchange.pulls ? demand.receivedBytes / pservers : 0);
    },
    sendMs: ({ role }) => (role === 'trainer' ? demand.message.trainer / 2000 : 0),
    receiveMs({ role }: SimulatedProcess, { request, answer }: Cargo) {
      if (role === 'trainer') return demand.message.trainer / 2000;
      if (answer !== undefined) return 0;
      if (role === 'pserver') return pserverMs(exchangeOf(request) ?? { pulls: false, pushes: false });
      return TASK_REQUESTS.has(request.type) ? demand.masterTaskMicros / MASTER_REQUESTS_A_TASK / 1000 : 0;
    },
  };
}

const TASK_REQUESTS: ReadonlySet<string> = new Set<RequestHeader['type']>(['getTasks', 'progress', 'finishTasks']);

interface Exchange {
  readonly pulls: boolean;
  readonly pushes: boolean;
}

/** Undefined for a message without values. */
function exchangeOf(request: RequestHeader): Exchange | undefined {
  if (request.type === 'pull') return { pulls: true, pushes: false };
  if (request.type === 'push') return { pulls: request.pull !== undefined, pushes: true };
  return undefined;
}

function headerBytes({ request, answer }: Cargo): number {
  if (isPaddletError(answer)) return ANSWER_HEADER_BYTES;
  const header = answer ?? request;
  const name = `${answer === undefined ? 'request' : 'reply'} ${header.type}`;
  const kind = answer === undefined ? 'request' : 'reply';
  const known = lengths.get(name) ?? encodeFrame({ kind, requestId: 1, header, segments: [] }).byteLength;
  lengths.set(name, known);
  return known;
}
