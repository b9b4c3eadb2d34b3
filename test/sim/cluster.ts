/** A whole simulated cluster: every process under a supervisor that starts it again, on a machine of its own. */

import type { Shell } from '../../src/base/seams.ts';
import { parseCut } from '../../src/checkpoint/registry/cut.ts';
import { readEntries } from '../../src/checkpoint/registry/discover.ts';
import { needOf } from '../../src/checkpoint/registry/needed.ts';
import { publishedFiles } from '../../src/checkpoint/registry/newest.ts';
import { parsePartings } from '../../src/checkpoint/registry/partings.ts';
import { parseJobEnd } from '../../src/cluster/job/job-watch.ts';
import { type Head, parseHead } from '../../src/cluster/placement/heads.ts';
import type { Job } from '../../src/job/schema.ts';
import type { RequestHandler } from '../../src/protocol/messages/channel.ts';
import { createDice, type Dice } from './dice.ts';
import { KEYS } from './job-keys.ts';
import { SimulatedNetwork } from './network.ts';
import type { Carrier } from './pipe.ts';
import type { RoleName, SimulatedProcess } from './process.ts';
import type { ClusterShape } from './shape.ts';
import { StoreServer } from './store.ts';
import { type Member, Supervisor } from './supervisor.ts';
import type { Timeline } from './timeline.ts';
import type { Witness } from './witness.ts';
import type { Workload } from './workload.ts';

export interface ClusterOptions {
  readonly seed: number;
  readonly shape: ClusterShape;
  readonly workload: Workload;
  readonly timeline: Timeline;
  readonly witness: Witness;
  /** The job that the masters are started with, when it is not that of the workload. */
  readonly job?: Job;
  readonly wrapHandler?: (server: SimulatedProcess, handler: RequestHandler) => RequestHandler;
  readonly carrier?: Carrier;
  /** Runs the commands of the job. */
  readonly shell?: Shell;
  /** Sees each process before it begins. */
  readonly equip?: (process: SimulatedProcess) => void;
}

const MASTERS = 2;

function membersOf({ mostPservers, trainers }: ClusterShape): Member[] {
  const members = (role: RoleName, count: number): Member[] =>
    Array.from({ length: count }, (_, at) => ({
      name: `${role} ${at}`,
      role,
      index: role === 'pserver' ? at : undefined,
    }));
  return [...members('master', MASTERS), ...members('pserver', mostPservers), ...members('trainer', trainers)];
}

/** Any start order works, within so much time. */
const LATEST_START_MS = 1_500;

export class Cluster {
  readonly timeline: Timeline;
  readonly witness: Witness;
  readonly workload: Workload;
  readonly network: SimulatedNetwork;
  readonly store: StoreServer;
  readonly supervisors: readonly Supervisor[];
  readonly shape: ClusterShape;
  readonly shell: Shell | undefined;
  readonly equip: ((process: SimulatedProcess) => void) | undefined;
  readonly #starts: Dice;
  /** Faults that have not ended. */
  #faults = 0;
  #calmSinceMs = 0;
  #job: Job;

  constructor(options: ClusterOptions) {
    const { seed, timeline, witness, workload, shape } = options;
    this.timeline = timeline;
    this.witness = witness;
    this.workload = workload;
    this.shape = shape;
    const members = membersOf(shape);
    this.network = new SimulatedNetwork({
      processes: members.length,
      timeline,
      dice: createDice(seed, 'network'),
      answered: (seen) => witness.answered(seen),
      bug: (...seen) => witness.bug(...seen),
      carrier: options.carrier,
      ...(options.wrapHandler === undefined ? {} : { wrapHandler: options.wrapHandler }),
    });
    this.equip = options.equip;
    this.shell = options.shell;
    this.store = new StoreServer(timeline, createDice(seed, 'store'), witness);
    const starts = createDice(seed, 'starts');
    this.#starts = starts;
    this.#job = options.job ?? workload.job;
    this.supervisors = members.map((member) => {
      const isMember = (member.index ?? 0) < shape.pservers;
      const startsAtMs = isMember ? starts.between(0, LATEST_START_MS) : undefined;
      return new Supervisor(this, member, { workload, shape, dice: createDice(seed, member.name), startsAtMs });
    });
  }

  /** Since when no fault began, lasted or ended; infinite while one lasts. */
  get calmSinceMs(): number {
    return this.#faults > 0 ? Number.POSITIVE_INFINITY : this.#calmSinceMs;
  }

  faultBegins(): void {
    this.#faults += 1;
  }

  faultEnds(): void {
    this.#faults -= 1;
    this.#calmSinceMs = this.timeline.nowMs;
  }

  /** A process was killed just now. */
  wasStruck(): void {
    this.#calmSinceMs = this.timeline.nowMs;
  }

  get isOver(): boolean {
    return this.supervisors.every(({ isOver }) => isOver);
  }

  /** That of the job file. */
  get job(): Job {
    return this.#job;
  }

  /** Starts all processes again, when they have ended, with another job file. */
  continueWith(job: Job): void {
    this.#job = job;
    for (const supervisor of this.supervisors) {
      if (!supervisor.isAway) supervisor.startAt(this.timeline.nowMs + this.#starts.between(0, LATEST_START_MS));
    }
  }

  /** The result in the store is that of fewer passes: a role that ends because of it came before the master. */
  get isEarly(): boolean {
    const entry = this.store.data.get(KEYS.result);
    if (entry === undefined) return true;
    const end = parseJobEnd(entry.key, entry.value);
    if (!('result' in end) || end.result.evaluation?.isStoppedEarly === true) return false;
    return end.result.passes < this.#job.training.passes;
  }

  /** The number of pservers that the job is to have; undefined before there is a job. */
  get desired(): number | undefined {
    const entry = this.store.data.get(KEYS.psDesired);
    return entry && Number(entry.value);
  }

  get heads(): { readonly unit: number; readonly head: Head }[] {
    const { entries } = this.store.data.range({ prefix: KEYS.headsPrefix });
    return entries.map(({ key, value }) => {
      return { unit: Number(key.slice(KEYS.headsPrefix.length)), head: parseHead(key, value) };
    });
  }

  /** A pserver with that index, or its disk, has what is nowhere else. */
  isNeeded(index: number): boolean {
    const { data } = this.store;
    if (this.heads.some(({ head }) => head.primary.index === index)) return true;
    const { published } = readEntries(KEYS.checkpointsPrefix, data.range({ prefix: KEYS.checkpointsPrefix }).entries);
    const need = needOf(index, {
      files: publishedFiles(published),
      partings: parsePartings(KEYS.partingPrefix, data.range({ prefix: KEYS.partingPrefix }).entries),
      cut: parseCut(KEYS.cut, data.get(KEYS.cut)).cut,
      resting: new Set(this.heads.flatMap(({ head }) => (head.rest === undefined ? [] : [head.rest.uuid]))),
    });
    return need !== undefined;
  }

  named(name: string): Supervisor {
    return this.supervisors.find((one) => one.member.name === name)!;
  }
}
