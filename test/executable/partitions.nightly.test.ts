/**
 * Machines that do not reach each other, with real packets: each role and each member of etcd is in a network namespace
 * of its own. No unit is ever led by two, nothing that was acknowledged is lost, and all goes on once the network is
 * whole again.
 */
import { describe, expect, onTestFinished, test } from 'vitest';
import { isPaddletError } from '../../src/base/errors.ts';
import { whyNoEtcd } from '../etcd-server.ts';
import { askPosition } from './ask-position.ts';
import { COPIES, type CopiedCluster, expectNothingLost, isOk, ledBy, startCopied, tokenOf } from './copied-job.ts';
import { startEtcdMembers } from './etcd-members.ts';
import { endWell, openPlace } from './harness.ts';
import { TestNetwork, whyNoNetwork } from './network.ts';
import { PADDLET } from './processes.ts';
import { expectMidRun } from './run.ts';

const LEASE_MS = 5_000;
const LEASE_LOST = 5;
const STORES = ['etcd-0', 'etcd-1', 'etcd-2'];
const PSERVERS = ['pserver-0', 'pserver-1', 'pserver-2'];
const TRAINERS = ['trainer-0', 'trainer-1'];
const MACHINES = [...STORES, 'master', ...PSERVERS, ...TRAINERS];
/** Of the pserver that is cut off. */
const LOST = 1;

interface Parted extends CopiedCluster {
  readonly network: TestNetwork;
}

async function startParted(): Promise<Parted> {
  const network = new TestNetwork(MACHINES);
  onTestFinished(() => network.remove());
  // Its processes are ended before the network goes.
  const place = openPlace();
  const storeUrl = startEtcdMembers(place, network, STORES);
  const cluster = await startCopied(place, storeUrl, LEASE_MS, (name, args, env) => {
    const machine = name.replace(' ', '-');
    const listen = ['--listen', `${network.addressOf(machine)}:0`];
    return place.startCommand(name, network.on(machine, [PADDLET, ...args, ...listen]), env);
  });
  return { ...cluster, network };
}

const rest = (...machines: readonly string[]): string[] => MACHINES.filter((machine) => !machines.includes(machine));

/**
 * Others lead its units after its lease, and it answers nothing from then on. It ends when it hears of that, and the
 * same command takes part again.
 */
async function loseOne(parted: Parted, cut: (network: TestNetwork) => void): Promise<void> {
  const { network, store, master, pservers, others } = parted;
  const token = await tokenOf(store, LOST);
  const ask = await askPosition(store, (await store.get(`/ps/${LOST}`))!.value);
  expect(await ask()).toMatchObject({ type: 'position' });
  cut(network);
  await store.until((entries) => !entries.has(`/ps/${LOST}`) && ledBy(entries, token).length === 0, master);
  const refused = await ask().catch((error: unknown) => error);
  expect(isPaddletError(refused, 'Suspended') ? 'Suspended' : refused).toBe('Suspended');
  const done = await expectMidRun(store);
  await store.until((entries) => isOkOf(entries, 2), master);
  expect(await expectMidRun(store)).toBeGreaterThan(done);
  network.heal();
  expect((await pservers[LOST]!.ended).code).toBe(LEASE_LOST);
  const again = parted.again(LOST);
  await store.until((entries) => isOkOf(entries, 3), master);
  await expectMidRun(store);

  await expectNothingLost(parted);
  await endWell([...pservers.filter((_, index) => index !== LOST), again, ...others]);
}

/** Every unit has all its copies, on so many pservers. */
const isOkOf = (entries: Parameters<typeof isOk>[0], pservers: number): boolean =>
  isOk(entries) && [0, 1, 2].filter((index) => entries.has(`/ps/${index}`)).length === pservers;

const passesOver = (entries: Parameters<typeof isOk>[0]): number =>
  [...entries.keys()].filter((key) => key.startsWith('/tasks/passes/')).length;

/** Until so many more passes are over. */
async function goOn({ store, master }: Parted, passes: number): Promise<void> {
  const before = passesOver(await store.entries());
  await store.until((entries) => passesOver(entries) >= before + passes, master);
  await expectMidRun(store);
}

async function endWhole(parted: Parted): Promise<void> {
  await expectNothingLost(parted);
  await endWell([...parted.pservers, ...parted.others]);
}

const why = whyNoEtcd() ?? whyNoNetwork();
const isLong = process.env.PADDLET_TEST_PARTITIONS === 'all';

describe.skipIf(why !== undefined)(
  `machines that do not reach each other${why === undefined ? '' : ` (${why})`}`,
  () => {
    test('a pserver is cut off from all others', async () => {
      await loseOne(await startParted(), (network) => network.isolate('pserver-1'));
    });

    describe.skipIf(!isLong)(`all ways${isLong ? '' : ' (PADDLET_TEST_PARTITIONS=all)'}`, () => {
      test('what a pserver sends arrives nowhere', async () => {
        await loseOne(await startParted(), (network) => {
          for (const other of rest('pserver-1')) network.cutOneWay('pserver-1', other);
        });
      });

      test('what others send to a pserver does not arrive', async () => {
        await loseOne(await startParted(), (network) => {
          for (const other of rest('pserver-1')) network.cutOneWay(other, 'pserver-1');
        });
      });

      test('a pserver is cut off from the store only', async () => {
        await loseOne(await startParted(), (network) => network.cut('pserver-1', ...STORES));
      });

      test('two pservers are cut off from each other only: pushes go on, and all copies are there when it is healed', async () => {
        const parted = await startParted();
        const { network, store, master } = parted;
        network.cut('pserver-0', 'pserver-1');
        await store.until((entries) => !isOk(entries), master);
        await goOn(parted, 1);
        network.heal();
        await store.until(isOk, master);
        await endWhole(parted);
      });

      test('all trainers are cut off from one pserver: they wait, and no copy is taken out', async () => {
        const parted = await startParted();
        parted.heads.keepCopies(COPIES);
        for (const trainer of TRAINERS) parted.network.cut(trainer, 'pserver-1');
        for (const trainer of parted.others) await trainer.said(/waiting for the pservers/);
        parted.network.heal();
        await goOn(parted, 1);
        await endWhole(parted);
      });

      test('each member of etcd is cut off from all others in turn', async () => {
        const parted = await startParted();
        for (const member of STORES) {
          parted.network.isolate(member);
          await goOn(parted, 1);
          parted.network.heal();
        }
        await endWhole(parted);
      });
    });
  },
);
