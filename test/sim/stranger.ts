/** A process that knows the job and is none of its roles: for a long time it sends what no role would send. */
import { isPaddletError } from '../../src/base/errors.ts';
import type { Cancel } from '../../src/base/seams.ts';
import { jobFields } from '../../src/cluster/client/job-fields.ts';
import { type JobRecord, parseJobRecord } from '../../src/cluster/job/job-record.ts';
import type { ReplyHeader, RequestHeader } from '../../src/protocol/messages/all-messages.ts';
import type { Channel, Outgoing } from '../../src/protocol/messages/channel.ts';
import { parseRoleInfo } from '../../src/view/info.ts';
import type { Cluster } from './cluster.ts';
import type { Dice } from './dice.ts';
import { KEYS } from './job-keys.ts';
import { SimulatedProcess } from './process.ts';
import { PASSES, SHARED_ID, TASKS } from './workload.ts';

const PAUSE_MS = [20, 250] as const;
const TIMEOUT_MS = 2_000;

type Ask = <T extends RequestHeader['type']>(
  message: Outgoing<Extract<RequestHeader, { type: T }>>,
) => Promise<Extract<ReplyHeader, { type: T }> | undefined>;

/** Until the cancel. */
export function letStrangerIn(cluster: Cluster, dice: Dice): Cancel {
  const process = new SimulatedProcess({ name: 'stranger', role: 'stranger', life: 1 }, cluster.timeline, dice);
  const stranger = new Stranger(cluster, process);
  const goOn = (): void => {
    stranger.act().then(
      () => void process.clock.after(dice.between(...PAUSE_MS), goOn),
      (error: unknown) => cluster.witness.bug(process, error),
    );
  };
  goOn();
  return () => {
    process.die();
    cluster.network.died(process, false);
  };
}

class Stranger {
  readonly #cluster: Cluster;
  readonly #process: SimulatedProcess;
  readonly #channels = new Map<string, Channel>();

  constructor(cluster: Cluster, process: SimulatedProcess) {
    this.#cluster = cluster;
    this.#process = process;
  }

  async act(): Promise<void> {
    const { store } = this.#cluster;
    const { dice } = this.#process;
    const entry = store.data.get(KEYS.job);
    if (entry === undefined) return;
    const record = parseJobRecord(entry.key, entry.value);
    const at = dice.chance(0.2) ? store.data.get(KEYS.masterAddr) : dice.pick(this.#pservers());
    if (at === undefined) return;
    const ask = this.#asking(at.value);
    const info = await ask({ header: { type: 'info' } });
    if (info === undefined) return;
    const about = parseRoleInfo(info.info);
    if (about.role === 'master') await this.#finishOther(ask, record);
    if (about.role !== 'pserver' || about.state !== 'working') return;
    if (record.job.training.mode === 'sync') await this.#pushLane(ask, record, about.placement);
    else await this.#pushNonsense(ask, record, about.placement);
  }

  #pservers() {
    const { store } = this.#cluster;
    const { entries } = store.data.range({ prefix: KEYS.psPrefix });
    return entries.length === 0 ? [undefined] : entries;
  }

  /** Undefined when it is refused, or not answered. */
  #asking(address: string): Ask {
    const channel = this.#channels.get(address) ?? this.#cluster.network.of(this.#process).connect(address);
    this.#channels.set(address, channel);
    return async (message) => {
      try {
        const reply = await channel.request(message as never, { timeoutMs: TIMEOUT_MS });
        reply.free();
        return reply.header as never;
      } catch (error) {
        if (!isPaddletError(error)) throw error;
        this.#cluster.witness.count(`stranger refused ${error.code}`);
        return undefined;
      }
    };
  }

  /** The push that is wanted next, with a gradient that is no number. */
  async #pushNonsense(ask: Ask, record: JobRecord, placement: { revision: string; shards: number }): Promise<void> {
    const { dice } = this.#process;
    const { batchSize, pushEvery } = record.job.training;
    const { recordsPerTask } = record.job.data;
    const pass = dice.whole(0, PASSES - 1);
    const task = dice.whole(0, TASKS - 2);
    const position = await ask({
      header: { type: 'position', ...jobFields(record), placement, tasks: [{ pass, task }] },
    });
    const push = position?.next[0] ?? -1;
    if (push < 0) return;
    const read = Math.min(recordsPerTask, (push + 1) * batchSize * pushEvery);
    const first = task * recordsPerTask;
    const good = this.#cluster.workload.records.slice(first, first + read).filter((isGood) => isGood).length;
    const id = dice.chance(0.5) ? SHARED_ID : first + 1;
    await ask({
      header: {
        ...{ type: 'push', ...jobFields(record), pass, task, push, last: read === recordsPerTask, good },
        ...{ placement, dense: [], sparse: [{ table: 0 }] },
      },
      segments: [new Uint8Array(BigUint64Array.of(BigInt(id)).buffer), bytesOf(Number.NaN)],
    });
  }

  /**
   * An empty lane: of the timeline before, or of the round before, of the coming one or of one after it. In the coming
   * round it is right where the plan has no mini-batch for the lane. The stranger does not wait for the other pservers.
   */
  async #pushLane(ask: Ask, record: JobRecord, placement: { revision: string; shards: number }): Promise<void> {
    const { dice } = this.#process;
    const at = await ask({ header: { type: 'rounds', ...jobFields(record), placement, maxWaitMs: 0 } });
    if (at === undefined || at.missing.length === 0) return;
    const isOld = at.timeline > 0 && dice.chance(0.3);
    const round = isOld ? at.version : at.version + dice.pick([-1, 0, 0, 1]);
    if (round < 0) return;
    const reply = await ask({
      header: {
        ...{ type: 'pushLane', ...jobFields(record), placement, lane: dice.pick(at.missing) },
        ...{ timeline: isOld ? at.timeline - 1 : at.timeline, round },
        ...{
          records: 0,
          metrics: { records: 0, weight: 0, loss: 0, correct: 0, squaredError: 0 },
          dense: [],
          sparse: [],
        },
      },
    });
    if (reply?.outcome === 'taken') this.#cluster.witness.count('stranger lane taken');
  }

  /** The end of a task that it was never given. */
  async #finishOther(ask: Ask, record: JobRecord): Promise<void> {
    if (record.job.training.mode === 'sync') return;
    const { dice } = this.#process;
    await ask({
      header: {
        ...{ type: 'finishTasks', ...jobFields(record), trainer: dice.uuid() },
        ends: [
          {
            ...{ queue: 'train', attempt: 1, pass: dice.whole(0, PASSES - 1), task: dice.whole(0, TASKS - 1) },
            ...{ recovery: 1_000_000, records: 0, read: 0, good: 0, bad: 0, duplicate: 0 },
            metrics: { records: 0, weight: 0, loss: 0, correct: 0, squaredError: 0 },
          },
        ],
      },
    });
  }
}

const bytesOf = (value: number): Uint8Array => new Uint8Array(Float32Array.of(value).buffer);
