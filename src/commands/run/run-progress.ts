/** What `run` shows while its processes work: the bar, a line for each pass, and what the job waits for. */
import { type Waiting, waitingText } from '../../view/health.ts';
import type { DirectingInfo } from '../../view/info.ts';
import { progressOfMaster } from '../../view/progress.ts';
import { durationText, type Note } from '../base/fit.ts';
import type { Progress } from '../base/waiting.ts';

/** Shorter waits for processes are part of starting. */
const STARTING_LOOKS = 2;
const isOfStarting = ({ kind }: Waiting): boolean => kind === 'master' || kind === 'pservers' || kind === 'trainers';

export interface RunProgressOptions {
  readonly progress: Pick<Progress, 'update'>;
  readonly onLine: (line: string) => void;
}

export class RunProgress {
  readonly #options: RunProgressOptions;
  #passesLogged = 0;
  #shown: Bar = { done: 0, total: 1, notes: [] };
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
    const { onLine } = this.#options;
    for (const { pass, loss } of info.ended.slice(this.#passesLogged)) {
      const mean = loss === undefined ? '' : `: loss ${loss.toFixed(5)}`;
      onLine(`pass ${pass + 1} of ${info.passes} finished${mean}`);
    }
    this.#passesLogged = info.ended.length;
    this.#shown = barOf(info) ?? this.#shown;
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

/** The bar counts tasks or rounds of the whole job. */
export interface Bar {
  readonly done: number;
  readonly total: number;
  readonly notes: readonly Note[];
}

const fullBar = (text: string): Bar => ({ done: 1, total: 1, notes: [{ text, rank: 0 }] });

/** If there is no room for all notes, those with the lowest rank go first. */
const noteOf = (rank: number, text: string | undefined): Note[] => (text === undefined ? [] : [{ text, rank }]);

/** Undefined while the position is unknown. */
export function barOf(master: DirectingInfo): Bar | undefined {
  if (master.phase === 'evaluating') {
    const { done, total } = master.evaluation ?? { done: 0, total: 1 };
    return fullBar(`evaluating on the test files: task ${done}/${total}`);
  }
  if (master.phase === 'concluding') return fullBar('writing final checkpoints');
  const { pass, passes, tasks, tasksOfPass, rounds, roundsOfPass, recordsPerSecond, secondsLeft, loss } =
    progressOfMaster(master);
  const bar = tasks === undefined ? rounds : { done: tasks.done + tasks.discarded, total: tasks.total };
  if (bar === undefined || pass === undefined) return undefined;
  const notes = [
    noteOf(5, `pass ${Math.min(pass + 1, passes)}/${passes}`),
    noteOf(1, tasksOfPass && `task ${tasksOfPass.done}/${tasksOfPass.total}`),
    noteOf(1, roundsOfPass && `round ${roundsOfPass.done}/${roundsOfPass.total}`),
    noteOf(3, loss === undefined ? undefined : `loss ${loss.toFixed(4)}`),
    noteOf(2, recordsPerSecond ? `${recordsPerSecond.toLocaleString('en')} records/s` : undefined),
    noteOf(4, secondsLeft === undefined ? undefined : `${durationText(secondsLeft)} left`),
  ];
  return { ...bar, notes: notes.flat() };
}

const textOf = (waitingFor: readonly Waiting[]): string => waitingFor.map(waitingText).join('; ');
