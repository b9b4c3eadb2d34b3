/** What `run` shows while its processes work: the bar, a line for each pass, and what the job waits for. */
import type { Clock } from '../../base/seams.ts';
import type { DirectingInfo } from '../../cluster/info.ts';
import { type Waiting, waitingText } from '../../cluster/job/health.ts';
import type { Progress } from '../base/waiting.ts';
import { createProgressMeter, type JobProgress } from './job-progress.ts';

/** Shorter waits for processes are part of starting. */
const STARTING_LOOKS = 2;
const isOfStarting = ({ kind }: Waiting): boolean => kind === 'master' || kind === 'pservers' || kind === 'trainers';

export interface RunProgressOptions {
  readonly clock: Clock;
  readonly progress: Pick<Progress, 'update'>;
  readonly onLine: (line: string) => void;
}

export class RunProgress {
  readonly #options: RunProgressOptions;
  readonly #meter = createProgressMeter();
  #passesLogged = 0;
  #shown: JobProgress = { done: 0, total: 1, notes: [] };
  #position = '';
  #hasAdvanced = false;
  #waitingFor: readonly Waiting[] = [];
  /** Looks at which the job waited, without a break. */
  #looks = 0;
  #logged = '';

  constructor(options: RunProgressOptions) {
    this.#options = options;
  }

  /** The master's own word. */
  heard(info: DirectingInfo): void {
    const { clock, onLine } = this.#options;
    for (const { pass, loss } of info.ended.slice(this.#passesLogged)) {
      const mean = loss === undefined ? '' : `: loss ${loss.toFixed(5)}`;
      onLine(`pass ${pass + 1} of ${info.passes} finished${mean}`);
    }
    this.#passesLogged = info.ended.length;
    this.#shown = this.#meter(info, clock.monotonicMs());
    const records = info.mode === 'async' ? info.sums.read : info.rounds.round;
    const position = JSON.stringify([info.phase, this.#shown.done, records]);
    if (position !== this.#position) this.#hasAdvanced = true;
    this.#position = position;
    this.#show();
  }

  /** Whether the job has advanced since this was asked last. */
  hasAdvanced(): boolean {
    const hasAdvanced = this.#hasAdvanced;
    this.#hasAdvanced = false;
    return hasAdvanced;
  }

  /** What it waits for now; nothing when all is well. A line for each that lasts. */
  waits(waitingFor: readonly Waiting[]): void {
    this.#waitingFor = waitingFor;
    this.#looks = waitingFor.length === 0 ? 0 : this.#looks + 1;
    this.#show();
    const text = textOf(waitingFor);
    if (waitingFor.length === 0) this.#logged = '';
    // Without the seconds that are left, which change.
    const what = waitingFor.map((one) => one.text).join('; ');
    if (what === this.#logged || (this.#looks < STARTING_LOOKS && waitingFor.every(isOfStarting))) return;
    this.#logged = what;
    this.#options.onLine(`waiting for ${text}`);
  }

  #show(): void {
    const { done, total, notes } = this.#shown;
    const isWaiting = this.#waitingFor.length > 0;
    this.#options.progress.update(done, total, isWaiting ? `waiting for ${textOf(this.#waitingFor)}` : notes);
  }
}

const textOf = (waitingFor: readonly Waiting[]): string => waitingFor.map(waitingText).join('; ');
