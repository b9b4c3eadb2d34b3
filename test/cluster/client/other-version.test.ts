/**
 * A peer of another version at an address of the store: until the lease of a dead role ends, its port may belong to a
 * process of another job. Requests are repeated until the address is another one; they end nothing.
 */
import { expect, it } from 'vitest';
import { createMasterClient } from '../../../src/cluster/client/master-client.ts';
import { createPserverGroup } from '../../../src/cluster/client/pserver-group.ts';
import type { ClusterContext } from '../../../src/cluster/context.ts';
import type { JobRecord } from '../../../src/cluster/job/job-record.ts';
import type { Placement, PlacementView } from '../../../src/cluster/placement/placement-view.ts';
import { createSignal } from '../../../src/cluster/waiting.ts';
import type { Channel } from '../../../src/protocol/messages/channel.ts';
import { wrongVersion } from '../../../src/protocol/websocket/version.ts';
import { keysOf } from '../../../src/store/keys.ts';
import { MemoryStore, MemoryStoreData } from '../../../src/store/memory-store.ts';
import { fixedRandom, MemoryLog, realClock } from '../../protocol/rig.ts';
import { put } from '../../store/support.ts';

const OLD = '127.0.0.1:1';
const NEW = '127.0.0.1:2';
const never = new AbortController().signal;
const record = { id: 'job', batchPlanId: 'plan' } as JobRecord;

/** A world in which a process of version 1 listens at `OLD`; `onRefused` is called at each request to it. */
function world(onRefused: () => void): ClusterContext {
  const connect = (address: string): Channel =>
    ({
      address,
      request: async ({ header }: { header: { type: string } }) => {
        if (address === NEW) return { header: { type: header.type }, segmentCount: 0, free: () => {} };
        onRefused();
        throw wrongVersion(address, 'paddlet.v1');
      },
      sending: () => undefined,
      close: () => {},
    }) as unknown as Channel;
  return {
    host: { clock: realClock, random: fixedRandom, log: new MemoryLog() } as unknown as ClusterContext['host'],
    network: { connect } as unknown as ClusterContext['network'],
    store: new MemoryStore(new MemoryStoreData({ clock: realClock })),
    keys: keysOf('/paddlet/test'),
  };
}

it('a request to the master is repeated at the address of the next one', async () => {
  const context = world(() => void put(context.store, context.keys.masterAddr, NEW));
  await put(context.store, context.keys.masterAddr, OLD);
  const client = createMasterClient(context, (error) => {
    throw error;
  });
  const header = { type: 'returnLanes' as const, job: 'job', batchPlanId: 'plan', trainer: 't' };
  expect((await client.request({ header }, { signal: never })).header.type).toBe('returnLanes');
  client.close();
});

it('a request to the pservers is repeated with the next placement', async () => {
  const placed = (version: number, address: string): Placement => ({
    version,
    primaryOf: new Int32Array(1),
    pservers: [{ index: 0, address, token: BigInt(version), stamp: { revision: '1', shards: 1 }, units: [] }],
  });
  let placement = placed(1, OLD);
  const changed = createSignal();
  const context = world(() => {
    placement = placed(2, NEW);
    changed.notify();
  });
  const view: PlacementView = {
    changed,
    isLoaded: () => true,
    current: () => placement,
    version: () => placement.version,
    missing: () => 'nothing',
    desired: () => undefined,
    orphans: () => [],
    liveIndexes: () => [0],
    live: () => [],
    units: () => [],
    isLive: (_index, token) => token === placement.pservers[0]!.token,
    cancel: () => {},
  };
  const group = createPserverGroup(context, record, view);
  const ask = (now: Placement) => group.ask(now.pservers[0]!, 'closeTasks', { tasks: [] });
  const reply = await group.withPlacement('close tasks', ask, never);
  expect(reply.header.type).toBe('closeTasks');
  group.close();
});
