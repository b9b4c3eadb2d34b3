/** Starts one member of the cluster again and again, by the launcher's own rules, until it is over or is to leave. */
import { Registry } from 'prom-client';
import { EXIT, isPaddletError } from '../../src/base/errors.ts';
import type { Log } from '../../src/base/seams.ts';
import type { RoleContext } from '../../src/cluster/context.ts';
import { createTroubles } from '../../src/cluster/troubles.ts';
import { createRestartPolicy, type RestartPolicy } from '../../src/core/restart-policy.ts';
import { createStorage } from '../../src/host/storage.ts';
import { runMaster } from '../../src/roles/master/master.ts';
import { runPserver } from '../../src/roles/pserver/pserver.ts';
import { runTrainer } from '../../src/roles/trainer/trainer.ts';
import type { Cluster } from './cluster.ts';
import type { Dice } from './dice.ts';
import { Machine, ProcessDisk } from './disk.ts';
import { simulatedKeeper } from './evaluated.ts';
import { KEYS } from './job-keys.ts';
import { CHECKPOINTS_DIR } from './paths.ts';
import { type RoleName, SimulatedProcess } from './process.ts';
import type { ClusterShape } from './shape.ts';
import { ProcessStore } from './store.ts';
import { DATA_DIR, type Workload } from './workload.ts';

export interface Member {
  readonly name: string;
  readonly role: RoleName;
  /** Of a pserver. */
  readonly index: number | undefined;
}

interface SupervisorOptions {
  readonly shape: ClusterShape;
  readonly workload: Workload;
  readonly dice: Dice;
  /** Undefined: it is no member of the cluster until it joins. */
  readonly startsAtMs: number | undefined;
}

/** After how long a process that is to leave, and had to be started once more, is asked again. */
const ASKED_AGAIN_MS = [0, 4_000] as const;
const MOST_LIVES_OF_LEAVING = 3;
/** A pserver says whose files it waits for. Its own word for the operator is to start that one where they are. */
const MISSED_FILES = /^waiting for the checkpoint files of pserver (\d+)/;
/** Until an operator has seen what is waited for. */
const COMES_BACK_MS = 5_000;

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
  #isAway: boolean;
  #isLeaving = false;
  /** How often it was started since it was to leave. */
  #lifeOfLeaving = 0;
  /** The process has said so itself. */
  #isUnwanted = false;

  constructor(cluster: Cluster, member: Member, options: SupervisorOptions) {
    this.#cluster = cluster;
    this.member = member;
    this.#options = options;
    const slowness = member.role === 'pserver' ? options.shape.diskSlowness : 1;
    this.machine = new Machine(options.dice, slowness, (path) => {
      if (member.index !== undefined) cluster.witness.removed(member.index, path);
    });
    for (const [path, bytes] of options.workload.files) this.machine.disk.place(path, bytes);
    this.#isAway = options.startsAtMs === undefined;
    if (options.startsAtMs !== undefined) this.startAt(options.startsAtMs);
  }

  /** It is no member of the cluster: not yet, or not any more. */
  get isAway(): boolean {
    return this.#isAway;
  }

  /** It was asked to go for good, and has not gone. */
  get isLeaving(): boolean {
    return this.#isLeaving;
  }

  get isOver(): boolean {
    return this.#isAway || this.outcome !== undefined;
  }

  /** It becomes a member, or is to stay one. */
  join(atMs: number): void {
    this.#isLeaving = false;
    if (!this.#isAway) return;
    this.#isAway = false;
    this.startAt(atMs);
  }

  /** It had gone, as nothing that it has was needed; now another pserver waits for its files. */
  comeBack(): void {
    const { isFolderShared } = this.#options.shape;
    if (!isFolderShared && this.#lives > 0) this.join(this.#cluster.timeline.nowMs + COMES_BACK_MS);
  }

  /** SIGTERM, and it is not started again once it is not needed. */
  leave(): void {
    this.#isLeaving = true;
    this.#lifeOfLeaving = 0;
    this.terminate();
  }

  startAt(atMs: number): void {
    this.outcome = undefined;
    this.#cluster.timeline.at(atMs, () => this.#start());
  }

  /** SIGKILL. `silently`: with the whole machine, so that its peers are not told. */
  kill(silently: boolean): boolean {
    const process = this.running;
    if (process === undefined) return false;
    this.#cluster.wasStruck();
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
    if (this.running !== undefined) this.running.slowness = factor * this.#usualSlowness;
  }

  get #usualSlowness(): number {
    return this.member.role === 'trainer' ? this.#options.shape.trainerSlowness : 1;
  }

  #start(): void {
    const { timeline, witness } = this.#cluster;
    if (this.#hasLeft()) {
      this.#goAway();
      return;
    }
    this.#isUnwanted = false;
    this.#lives += 1;
    this.#startedMs = timeline.nowMs;
    const { name, role } = this.member;
    const process = new SimulatedProcess({ name, role, life: this.#lives }, timeline, this.#options.dice);
    process.slowness = this.slowness * this.#usualSlowness;
    this.#cluster.equip?.(process);
    this.running = process;
    this.#planEarlyDeath(process);
    this.#stop = new AbortController();
    this.#stopRequested = false;
    witness.tell(name, this.#lives === 1 ? 'starts' : `starts again (life ${this.#lives})`);
    this.#lifeOfLeaving += 1;
    // An operator does not try for ever.
    if (this.#lifeOfLeaving > MOST_LIVES_OF_LEAVING) this.#isLeaving = false;
    if (this.#isLeaving) {
      timeline.after(this.#options.dice.between(...ASKED_AGAIN_MS), () => {
        if (this.running === process && this.#isLeaving) this.terminate();
      });
    }
    this.#run(process).then(
      (code) => this.#end(process, code, false),
      (error: unknown) => {
        if (!isPaddletError(error)) witness.bug(process, error);
        else witness.tell(name, `fails: ${error.code}: ${error.message}`);
        // Started with an index that the job did not want at that moment.
        if (isPaddletError(error, 'Usage')) this.#isUnwanted = true;
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

  /**
   * Whether it is to be started no more: the job does not want it, or it was asked to leave. Not so while what it has
   * cannot be had elsewhere.
   */
  #hasLeft(): boolean {
    const { index } = this.member;
    if (index === undefined) return false;
    const { shape, desired = index + 1 } = this.#cluster;
    return (this.#isLeaving || index >= desired) && (shape.isFolderShared || !this.#cluster.isNeeded(index));
  }

  #goAway(): void {
    this.#isLeaving = false;
    this.#isAway = true;
    this.#cluster.witness.count('pserver left');
    this.#cluster.witness.tell(this.member.name, 'is no member any more');
  }

  async #run(process: SimulatedProcess): Promise<number> {
    const context = this.#contextOf(process);
    const { job, shell } = this.#cluster;
    const cacheDir = '/cache';
    switch (this.member.role) {
      case 'master': {
        const { kept } = this.#options.workload;
        const { witness } = this.#cluster;
        const end = await runMaster(context, {
          ...{ job, dataDir: DATA_DIR, cacheDir, checkpointDir: CHECKPOINTS_DIR },
          ...(shell && { shell }),
          ...(kept && { keeperOf: () => simulatedKeeper(process, kept, witness) }),
        });
        if (end === undefined) return EXIT.interrupted;
        if ('failure' in end) throw end.failure;
        return EXIT.done;
      }
      case 'pserver': {
        const { leaveLimitMs } = this.#options.shape;
        const options = { index: this.member.index, checkpointDir: CHECKPOINTS_DIR, leaveLimitMs };
        const end = await runPserver(context, options);
        process.hasLeft = end === 'left';
        this.#isUnwanted ||= process.hasLeft;
        return end === 'stopped' ? EXIT.interrupted : EXIT.done;
      }
      case 'trainer': {
        const end = await runTrainer(context, { dataDir: undefined, cacheDir, jobDir: '/job' });
        return end === 'finished' ? EXIT.done : EXIT.interrupted;
      }
    }
  }

  #contextOf(process: SimulatedProcess): RoleContext {
    const { witness, network, store } = this.#cluster;
    const write = (level: string) => (message: string, facts?: Record<string, unknown>) => {
      if (process.isDead) return;
      witness.logged(process.name, level, message, facts);
      const [, missed] = message.match(MISSED_FILES) ?? [];
      if (missed !== undefined) this.#cluster.named(`pserver ${missed}`).comeBack();
    };
    const log: Log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
    const disk = this.#diskOf(process);
    return {
      host: { clock: process.clock, random: process.random, disk, storage: createStorage(disk), log },
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
      makeModel: () => this.#options.workload.createModel(() => this.#poisoned(process), process),
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
    const isEndOfJob = code === EXIT.done && !this.#isUnwanted;
    // A launcher does not start one again that is not wanted; other supervisors do, unless it ends by itself.
    const isGone = code !== null || this.#options.dice.chance(0.5);
    if (!isEndOfJob && isGone && this.#hasLeft()) {
      this.#goAway();
      return;
    }
    // One that could not write its parameters down is started again like any other that was asked to stop.
    const stopped = verdict.act === 'stopped' || code === EXIT.parametersLost;
    const early = verdict.act === 'done' && this.member.role !== 'master' && this.#cluster.isEarly;
    if (verdict.act === 'restart' || early || this.#isUnwanted || (stopped && this.#stopRequested)) {
      const afterMs = verdict.act === 'restart' ? verdict.afterMs : this.#options.dice.between(50, 3_000);
      witness.tell(process.name, `${how}; starts again in ${Math.round(afterMs)} ms`);
      timeline.after(afterMs, () => this.#start());
      return;
    }
    this.outcome = code ?? EXIT.bug;
    witness.tell(process.name, `${how}; that is all`);
  }
}
