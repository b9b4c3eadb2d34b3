/** A whole simulated cluster: every process under a supervisor that starts it again, on a machine of its own. */
import { Registry } from 'prom-client';
import { EXIT, isPaddletError } from '../../src/base/errors.ts';
import type { Log } from '../../src/base/seams.ts';
import type { RoleContext } from '../../src/cluster/context.ts';
import { parseJobEnd } from '../../src/cluster/job/job-watch.ts';
import { createTroubles } from '../../src/cluster/troubles.ts';
import { createRestartPolicy, type RestartPolicy } from '../../src/core/restart-policy.ts';
import type { Job } from '../../src/job/schema.ts';
import type { RequestHandler } from '../../src/protocol/messages/channel.ts';
import { runMaster } from '../../src/roles/master/master.ts';
import { runPserver } from '../../src/roles/pserver/pserver.ts';
import { runTrainer } from '../../src/roles/trainer/trainer.ts';
import { defaultChroot, type Keys, keysOf } from '../../src/store/keys.ts';
import { createDice, type Dice } from './dice.ts';
import { Machine, ProcessDisk } from './disk.ts';
import { SimulatedNetwork } from './network.ts';
import { CHECKPOINTS_DIR } from './paths.ts';
import { type RoleName, SimulatedProcess } from './process.ts';
import type { ClusterShape } from './shape.ts';
import { ProcessStore, StoreServer } from './store.ts';
import type { Timeline } from './timeline.ts';
import type { Witness } from './witness.ts';
import { DATA_DIR, JOB_NAME, type Workload } from './workload.ts';

export const KEYS: Keys = keysOf(defaultChroot(JOB_NAME));

export interface ClusterOptions {
  readonly seed: number;
  readonly shape: ClusterShape;
  readonly workload: Workload;
  readonly timeline: Timeline;
  readonly witness: Witness;
  /** The job that the masters are started with, when it is not that of the workload. */
  readonly job?: Job;
  readonly wrapHandler?: (server: SimulatedProcess, handler: RequestHandler) => RequestHandler;
}

export interface Member {
  readonly name: string;
  readonly role: RoleName;
  /** Of a pserver. */
  readonly index: number | undefined;
}

const MASTERS = 2;

function membersOf({ pservers, trainers }: ClusterShape): Member[] {
  const members = (role: RoleName, count: number): Member[] =>
    Array.from({ length: count }, (_, at) => ({
      name: `${role} ${at}`,
      role,
      index: role === 'pserver' ? at : undefined,
    }));
  return [...members('master', MASTERS), ...members('pserver', pservers), ...members('trainer', trainers)];
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
  readonly #starts: Dice;
  #job: Job;

  constructor(options: ClusterOptions) {
    const { seed, timeline, witness, workload, shape } = options;
    this.timeline = timeline;
    this.witness = witness;
    this.workload = workload;
    const members = membersOf(shape);
    this.network = new SimulatedNetwork({
      processes: members.length,
      timeline,
      dice: createDice(seed, 'network'),
      answered: (seen) => witness.answered(seen),
      bug: (...seen) => witness.bug(...seen),
      ...(options.wrapHandler === undefined ? {} : { wrapHandler: options.wrapHandler }),
    });
    this.store = new StoreServer(timeline, createDice(seed, 'store'), witness);
    const starts = createDice(seed, 'starts');
    this.#starts = starts;
    this.#job = options.job ?? workload.job;
    this.supervisors = members.map(
      (member) =>
        new Supervisor(this, member, {
          ...{ workload, shape },
          dice: createDice(seed, member.name),
          startsAtMs: starts.between(0, LATEST_START_MS),
        }),
    );
  }

  get isOver(): boolean {
    return this.supervisors.every(({ outcome }) => outcome !== undefined);
  }

  /** That of the job file. */
  get job(): Job {
    return this.#job;
  }

  /** Starts all processes again, when they have ended, with another job file. */
  continueWith(job: Job): void {
    this.#job = job;
    for (const supervisor of this.supervisors) {
      supervisor.startAt(this.timeline.nowMs + this.#starts.between(0, LATEST_START_MS));
    }
  }

  /** The result in the store is that of fewer passes: a role that ends because of it came before the master. */
  get isEarly(): boolean {
    const entry = this.store.data.get(KEYS.result);
    if (entry === undefined) return true;
    const end = parseJobEnd(entry.key, entry.value);
    return 'result' in end && end.result.passes < this.#job.training.passes;
  }

  named(name: string): Supervisor {
    return this.supervisors.find((one) => one.member.name === name)!;
  }
}

interface SupervisorOptions {
  readonly shape: ClusterShape;
  readonly workload: Workload;
  readonly dice: Dice;
  readonly startsAtMs: number;
}

/** Starts one member of the cluster again and again, by the launcher's own rules. */
export class Supervisor {
  readonly member: Member;
  readonly machine: Machine;
  running: SimulatedProcess | undefined;
  /** The exit code that it was not started again after. */
  outcome: number | undefined;
  /** Its next life ends at this operation. */
  diesEarlyAt: number | undefined;
  /** Called once, when it has ended by itself. */
  onceEnded: (() => void) | undefined;
  /** Slowness of the machine. */
  slowness = 1;
  readonly #cluster: Cluster;
  readonly #options: SupervisorOptions;
  readonly #policy: RestartPolicy = createRestartPolicy();
  #lives = 0;
  #startedMs = 0;
  #stop = new AbortController();
  #stopRequested = false;

  constructor(cluster: Cluster, member: Member, options: SupervisorOptions) {
    this.#cluster = cluster;
    this.member = member;
    this.#options = options;
    const slowness = member.role === 'pserver' ? options.shape.diskSlowness : 1;
    this.machine = new Machine(options.dice, slowness, (path) => {
      if (member.index !== undefined) cluster.witness.removed(member.index, path);
    });
    for (const [path, bytes] of options.workload.files) this.machine.disk.place(path, bytes);
    this.startAt(options.startsAtMs);
  }

  startAt(atMs: number): void {
    this.outcome = undefined;
    this.#cluster.timeline.at(atMs, () => this.#start());
  }

  /** SIGKILL. `silently`: with the whole machine, so that its peers are not told. */
  kill(silently: boolean): boolean {
    const process = this.running;
    if (process === undefined) return false;
    this.#end(process, null, silently);
    this.machine.crash();
    return true;
  }

  /** SIGTERM. */
  terminate(): boolean {
    if (this.running === undefined) return false;
    this.#stopRequested = true;
    const stop = this.#stop;
    this.running.deliver(() => stop.abort());
    return true;
  }

  setSlowness(factor: number): void {
    this.slowness = factor;
    if (this.running !== undefined) this.running.slowness = factor;
  }

  #start(): void {
    const { timeline, witness } = this.#cluster;
    this.#lives += 1;
    this.#startedMs = timeline.nowMs;
    const { name, role } = this.member;
    const process = new SimulatedProcess({ name, role, life: this.#lives }, timeline, this.#options.dice);
    process.slowness = this.slowness;
    this.running = process;
    this.#planEarlyDeath(process);
    this.#stop = new AbortController();
    this.#stopRequested = false;
    witness.tell(name, this.#lives === 1 ? 'starts' : `starts again (life ${this.#lives})`);
    this.#run(process).then(
      (code) => this.#end(process, code, false),
      (error: unknown) => {
        if (!isPaddletError(error)) witness.bug(process, error);
        else witness.tell(name, `fails: ${error.code}: ${error.message}`);
        this.#end(process, isPaddletError(error) ? error.exitCode : EXIT.bug, false);
      },
    );
  }

  #planEarlyDeath(process: SimulatedProcess): void {
    const at = this.diesEarlyAt;
    if (at === undefined) return;
    this.diesEarlyAt = undefined;
    process.onOperation = () => {
      if (process.operations === at && this.running === process) this.kill(false);
    };
  }

  async #run(process: SimulatedProcess): Promise<number> {
    const context = this.#contextOf(process);
    const { job } = this.#cluster;
    const cacheDir = '/cache';
    switch (this.member.role) {
      case 'master': {
        const end = await runMaster(context, { job, dataDir: DATA_DIR, cacheDir });
        if (end === undefined) return EXIT.interrupted;
        if ('failure' in end) throw end.failure;
        return EXIT.done;
      }
      case 'pserver': {
        const end = await runPserver(context, { index: this.member.index, checkpointDir: CHECKPOINTS_DIR });
        return end === 'finished' ? EXIT.done : EXIT.interrupted;
      }
      case 'trainer': {
        const end = await runTrainer(context, { dataDir: undefined, cacheDir });
        return end === 'finished' ? EXIT.done : EXIT.interrupted;
      }
    }
  }

  #contextOf(process: SimulatedProcess): RoleContext {
    const { witness, network, store } = this.#cluster;
    const write = (level: string) => (message: string) => {
      if (!process.isDead) witness.logged(process.name, level, message);
    };
    const log: Log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
    return {
      host: { clock: process.clock, random: process.random, disk: this.#diskOf(process), log },
      network: network.of(process),
      store: new ProcessStore(store, process),
      keys: KEYS,
      listen: '127.0.0.1:0',
      advertise: undefined,
      registry: new Registry(),
      health: () => async () => undefined,
      stop: this.#stop.signal,
      troubles: createTroubles(),
      hostName: process.name.replace(' ', '-'),
      pid: process.pid,
      version: 'simulated',
      ...(this.#options.shape.isCapturedByShard ? { extentBytes: 1 } : {}),
      makeModel: () => this.#options.workload.createModel(() => this.#poisoned(process)),
    };
  }

  #diskOf(process: SimulatedProcess): ProcessDisk {
    const { shape } = this.#options;
    const others = (index: number): Machine | undefined =>
      shape.isFolderShared && this.member.role === 'pserver'
        ? this.#cluster.named(`pserver ${index}`).machine
        : undefined;
    return new ProcessDisk(process, this.machine, others);
  }

  #poisoned(process: SimulatedProcess): void {
    if (this.running !== process) return;
    this.#cluster.witness.count('poisoned trainer');
    this.#cluster.witness.tell(process.name, 'dies of a record');
    this.kill(false);
  }

  #end(process: SimulatedProcess, code: number | null, silently: boolean): void {
    if (this.running !== process) return;
    const { timeline, witness, network } = this.#cluster;
    if (code !== null) witness.ended(process, code);
    if (code !== null) this.onceEnded?.();
    this.onceEnded = undefined;
    this.running = undefined;
    process.die();
    network.died(process, silently);
    const livedMs = timeline.nowMs - this.#startedMs;
    const verdict = this.#policy.ended({ code, signal: code === null ? 'SIGKILL' : null }, livedMs);
    const how = code === null ? 'is dead' : `ends with ${code}`;
    // One that could not write its parameters down is started again like any other that was asked to stop.
    const stopped = verdict.act === 'stopped' || code === EXIT.parametersLost;
    const early = verdict.act === 'done' && this.member.role !== 'master' && this.#cluster.isEarly;
    if (verdict.act === 'restart' || early || (stopped && this.#stopRequested)) {
      const afterMs = verdict.act === 'restart' ? verdict.afterMs : this.#options.dice.between(50, 3_000);
      witness.tell(process.name, `${how}; starts again in ${Math.round(afterMs)} ms`);
      timeline.after(afterMs, () => this.#start());
      return;
    }
    this.outcome = code ?? EXIT.bug;
    witness.tell(process.name, `${how}; that is all`);
  }
}
