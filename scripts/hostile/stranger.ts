/**
 * A client that holds all that the job's own processes hold, and uses it wrongly: it registers as a trainer, asks for
 * tasks and lanes and never works on them, and sends well-formed requests with values that it has seen elsewhere, at
 * the edges, or drawn.
 */
import { randomUUID } from 'node:crypto';
import { isPaddletError } from '../../src/base/errors.ts';
import type { ClusterContext } from '../../src/cluster/context.ts';
import { groupingOf } from '../../src/cluster/job/job-plan.ts';
import type { JobRecord } from '../../src/cluster/job/job-record.ts';
import { parseHead } from '../../src/cluster/placement/heads.ts';
import { type LedUnit, stampOf } from '../../src/core/placement.ts';
import { createRandomStream } from '../../src/data/synth/random-stream.ts';
import type { RequestHeader } from '../../src/protocol/messages/all-messages.ts';
import type { Channel } from '../../src/protocol/messages/channel.ts';
import { masterMessages } from '../../src/protocol/messages/to-master.ts';
import type { ParameterSpec } from '../../src/tensor/spec.ts';
import { RequestDrawer } from './draw-request.ts';
import { drawSegments } from './draw-segments.ts';
import { KnownValues } from './known-values.ts';

export interface StrangerOptions {
  readonly context: ClusterContext;
  readonly record: JobRecord;
  readonly spec: ParameterSpec;
  readonly seed: number;
  /** Only these messages; all without it. */
  readonly types: readonly string[] | undefined;
  readonly signal: AbortSignal;
  /** `outcome`: the code of an error, or what the reply says. */
  readonly answered: (type: string, outcome: string) => void;
}

const LEASE_MS = 2_000;
const REQUEST_TIMEOUT_MS = 3_000;
/** Requests of one stranger at a time. */
const IN_FLIGHT = 16;
/** After so many requests it reads again what the store says. */
const READ_EVERY = 200;

export async function runStranger(options: StrangerOptions): Promise<void> {
  const { context, record, signal } = options;
  const { store, keys } = context;
  const known = new KnownValues();
  const trainer = randomUUID();
  known.noteAll({ job: record.id, batchPlanId: record.batchPlanId, trainer, pass: 0, task: 0, push: 0 });
  known.noteAll({ timeline: 0, round: 0, lane: 0, recovery: 0, parameter: 0, table: 0, queue: 'train', attempt: 1 });
  const { leaseId } = await store.leaseGrant(LEASE_MS);
  await store.txn({
    if: [],
    then: [{ put: keys.trainer(trainer), value: await registrationLike(context), leaseId }],
  });
  const drawer = new RequestDrawer(createRandomStream(options.seed), known);
  const channels = new Map<string, Channel>();
  const timer = setInterval(() => void store.leaseKeepAlive(leaseId).catch(() => {}), LEASE_MS / 4);
  try {
    await Promise.all(
      Array.from({ length: IN_FLIGHT }, async (_, number) => {
        for (let sent = 0; !signal.aborted; sent++) {
          if (number === 0 && sent % READ_EVERY === 0) await readStore(context, record, known);
          await sendOne({ ...options, known, drawer, channels });
        }
      }),
    );
  } finally {
    clearInterval(timer);
    for (const channel of channels.values()) channel.close();
  }
}

/** What other trainers registered, or an address of its own when there is none. */
async function registrationLike({ store, keys }: ClusterContext): Promise<string> {
  const { entries } = await store.range({ prefix: keys.trainersPrefix, limit: 1 });
  return entries[0]?.value ?? '127.0.0.1:9';
}

interface Sending extends StrangerOptions {
  readonly known: KnownValues;
  readonly drawer: RequestDrawer;
  readonly channels: Map<string, Channel>;
}

async function sendOne({
  context,
  record,
  spec,
  known,
  drawer,
  channels,
  types,
  answered,
  signal,
}: Sending): Promise<void> {
  const header = drawer.draw(types);
  const address = addressFor(header.type, drawer, known);
  if (address === undefined) return readStore(context, record, known);
  const channel = channels.get(address) ?? context.network.connect(address);
  channels.set(address, channel);
  try {
    const reply = await channel.request({ header, segments: drawSegments(drawer, spec, header) } as never, {
      timeoutMs: REQUEST_TIMEOUT_MS,
    });
    const said = reply.header as Record<string, unknown> & { type: RequestHeader['type'] };
    reply.free();
    known.noteAll(said);
    answered(header.type, String(said.outcome ?? said.state ?? 'ok'));
  } catch (error) {
    if (!isPaddletError(error)) throw error;
    known.noteAll(error.details);
    if (!signal.aborted) answered(header.type, error.code);
  }
}

/** Seldom the address of the other role. */
function addressFor(type: string, drawer: RequestDrawer, known: KnownValues): string | undefined {
  const toMaster = type in masterMessages !== (drawer.below(20) === 0);
  const addresses = known.of(toMaster ? 'masterAddress' : 'pserverAddress', 'string') as string[];
  return addresses.length === 0 ? undefined : drawer.pick(addresses);
}

/** Addresses, trainers, stamps and numbers, as any client of the store sees them. */
async function readStore({ store, keys }: ClusterContext, record: JobRecord, known: KnownValues): Promise<void> {
  const { entries } = await store.range({ prefix: `${keys.chroot}/` });
  const led = new Map<number, LedUnit[]>();
  for (const { key, value } of entries) {
    if (key === keys.masterAddr) known.note('masterAddress', value);
    if (key.startsWith(keys.psPrefix)) known.note('pserverAddress', value);
    if (key.startsWith(keys.trainersPrefix)) known.note('trainer', key.slice(keys.trainersPrefix.length));
    if (key === keys.recovery) known.note('recovery', Number(value));
    if (!key.startsWith(keys.headsPrefix)) continue;
    const head = parseHead(key, value);
    const unit = { unit: Number(key.slice(keys.headsPrefix.length)), led: head.led };
    led.set(head.primary.index, [...(led.get(head.primary.index) ?? []), unit]);
  }
  for (const units of led.values()) known.note('placement', stampOf(units, groupingOf(record)));
}
