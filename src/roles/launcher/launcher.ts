/**
 * `paddlet run`: every role of the cluster as a separate process, restarted when it dies. The processes that are
 * wanted may change while the job runs. They are stopped in an order that loses nothing: trainers first, then pservers,
 * which save their parameters, then the master.
 */
import { logWaiting } from '../../cluster/waiting.ts';
import {
  type ChildEnd,
  type ChildOptions,
  type ChildSpec,
  type LaunchEnd,
  SupervisedChild,
} from './supervised-child.ts';

const SAY_AFTER_MS = 2_000;

/** The processes that the job should have. */
export interface WantedProcesses {
  /** As they are known now; the master is always one of them. */
  specs(): readonly ChildSpec[];
  /** `run` is called when they may have changed. */
  onChange(run: () => void): void;
  /** `run` is called when the job has ended, well or not. */
  onJobEnd(run: () => void): void;
  /** Brings `specs` up to date. Returns whether the job has ended, undefined when that cannot be known. */
  look(): Promise<boolean | undefined>;
}

export interface LauncherOptions extends Omit<ChildOptions, 'stopping'> {
  readonly wanted: WantedProcesses;
  /** Aborts when the user wants to stop. */
  readonly stop: AbortSignal;
  /** How long a stop, and the end after the job's, may take; a process that takes longer is killed. */
  readonly stopLimitMs: number;
}

/**
 * Each group ends within its part of the limit: a full disk or a store that does not answer may keep the trainers
 * waiting, and the pservers still need the time to save.
 */
const STOP_ORDER = [
  { role: 'trainer', untilPart: 1 / 4 },
  { role: 'pserver', untilPart: 3 / 4 },
  { role: 'master', untilPart: 1 },
] as const;

/** Resolves when every process has ended. The first one that is stopped or fails for good stops the others. */
export async function launch(options: LauncherOptions): Promise<LaunchEnd> {
  if (options.stop.aborted) return { how: 'stopped' };
  return new Launcher(options).run();
}

class Launcher {
  readonly #options: LauncherOptions;
  /** By name: those that run, are restarted, or have ended with the job. */
  readonly #children = new Map<string, SupervisedChild>();
  readonly #ended = new Set<SupervisedChild>();
  readonly #allEnded = Promise.withResolvers<LaunchEnd>();
  #stopping: LaunchEnd | undefined;
  #hasJobEnded = false;

  constructor(options: LauncherOptions) {
    this.#options = options;
  }

  async run(): Promise<LaunchEnd> {
    const { stop, log, stopLimitMs, wanted } = this.#options;
    const onStop = (): void => {
      const work = this.#hasJobEnded ? '' : ': trainers return their work, then pservers save';
      log.info(`stopping, for at most ${stopLimitMs / 1000} s${work}`);
      void this.#stopAll({ how: 'stopped' });
    };
    stop.addEventListener('abort', onStop, { once: true });
    for (const spec of wanted.specs()) this.#start(spec);
    wanted.onChange(() => this.#follow());
    wanted.onJobEnd(() => this.#onJobEnd());
    try {
      return await this.#allEnded.promise;
    } finally {
      stop.removeEventListener('abort', onStop);
    }
  }

  #start(spec: ChildSpec): void {
    const child = new SupervisedChild({ ...this.#options, stopping: () => this.#stopping }, spec);
    this.#children.set(spec.name, child);
    void child.ended.then((end) => this.#onEnd(child, end));
  }

  /** Starts what is missing, and lets go of what is no longer wanted. */
  #follow(): void {
    if (this.#stopping !== undefined) return;
    const { wanted, log } = this.#options;
    const specs = new Map(wanted.specs().map((spec) => [spec.name, spec]));
    const missing = [...specs.values()].filter(({ name }) => !this.#children.has(name));
    if (missing.length > 0) log.info(`starting ${missing.map(({ name }) => name).join(', ')}`);
    for (const spec of missing) this.#start(spec);
    for (const [name, child] of this.#children) if (specs.has(name)) child.keep();
    const leaving = [...this.#children.values()].filter(({ name, isWanted }) => isWanted && !specs.has(name));
    if (leaving.length > 0)
      log.info(`${leaving.map(({ name }) => name).join(', ')} to leave: the job was resized and no longer needs them`);
    for (const child of leaving) child.retire();
  }

  async #onEnd(child: SupervisedChild, end: ChildEnd): Promise<void> {
    if (this.#stopping === undefined && (end.how === 'left' || (await this.#hasLeft(child, end)))) {
      this.#options.log.info(`${child.name} has left`);
      this.#children.delete(child.name);
      this.#follow();
    } else {
      this.#ended.add(child);
      if (end.how !== 'done' && end.how !== 'left') void this.#stopAll(end);
    }
    // One that leaves may be the last, when the others have ended with the job.
    if (this.#ended.size === this.#children.size) this.#allEnded.resolve(this.#stopping ?? { how: 'done' });
  }

  /**
   * What is wanted may be known to the child before it is known here. A pserver that ends well although the job has not
   * ended was not wanted when it left.
   */
  async #hasLeft({ name, role }: SupervisedChild, end: ChildEnd): Promise<boolean> {
    if (role === 'master') return false;
    const { wanted } = this.#options;
    const hasJobEnded = await wanted.look();
    if (this.#stopping !== undefined) return false;
    if (end.how === 'done') return hasJobEnded === false;
    return hasJobEnded !== true && !wanted.specs().some((spec) => spec.name === name);
  }

  /** Every process learns that by itself, and ends; one that is suspended, or hangs in a file system, does not. */
  #onJobEnd(): void {
    if (this.#hasJobEnded) return;
    this.#hasJobEnded = true;
    if (this.#stopping !== undefined) return;
    for (const { role, untilPart } of STOP_ORDER) {
      const limitMs = this.#options.stopLimitMs * untilPart;
      void this.#endedWithin(role, limitMs, `to end, as the job has; killed ${limitMs / 1000} s after that`);
    }
  }

  /** Asks all to leave, group by group; each group has gone before the next is asked. */
  async #stopAll(how: LaunchEnd): Promise<void> {
    if (this.#stopping !== undefined) return;
    this.#stopping = how;
    const { clock, stopLimitMs } = this.#options;
    const startedMs = clock.monotonicMs();
    for (const { role, untilPart } of STOP_ORDER) {
      for (const child of this.#groupOf(role)) child.stop();
      const limitMs = startedMs + stopLimitMs * untilPart - clock.monotonicMs();
      await this.#endedWithin(role, limitMs, 'to stop; Ctrl-C again kills all processes');
    }
  }

  #groupOf(role: ChildSpec['role']): SupervisedChild[] {
    return [...this.#children.values()].filter((child) => child.role === role);
  }

  /** Waits until all of a role have ended, and logs whom for; kills those that take longer than `limitMs`. */
  async #endedWithin(role: ChildSpec['role'], limitMs: number, toWhat: string): Promise<void> {
    const { clock, log } = this.#options;
    const alive = new Set(this.#groupOf(role));
    const namesOf = (): string => [...alive].map(({ name }) => name).join(', ');
    const cancelLog = logWaiting(clock, log, () => `${namesOf()} ${toWhat}`, SAY_AFTER_MS);
    const cancelKill = clock.after(limitMs, () => {
      this.#sayKilled(namesOf());
      // None is started again.
      this.#stopping ??= { how: 'done' };
      for (const child of alive) child.kill();
    });
    await Promise.all([...alive].map((child) => child.ended.then(() => alive.delete(child))));
    cancelLog();
    cancelKill();
  }

  #sayKilled(names: string): void {
    const { log } = this.#options;
    if (this.#hasJobEnded)
      log.warn(`${names} did not end in time and was killed: the job has ended, so nothing is lost`);
    else {
      log.error(`${names} did not stop in time and was killed: training resumes from the last checkpoint`, {
        hint: 'read the warnings above; if the model takes long to save, raise --stop-timeout',
      });
    }
  }
}
