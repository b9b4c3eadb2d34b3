/** What must hold at every moment of a schedule, whatever comes out of it at the end. */
import type { PaddletError } from '../../../src/base/errors.ts';
import type { ReplyHeader, RequestHeader } from '../../../src/protocol/messages/all-messages.ts';
import type { Keys } from '../../../src/store/keys.ts';
import type { KeyValue } from '../../../src/store/store.ts';
import type { Mode } from '../mode.ts';
import type { SimulatedProcess } from '../process.ts';

/** The world as an oracle sees it: what is in the store and on the disks at this moment. */
export interface World {
  readonly mode: Mode;
  readonly keys: Keys;
  /** Of the job. */
  readonly pservers: number;
  readonly shards: number;
  readonly units: number;
  /** Copies of each unit. */
  readonly replicas: number;
  /** With fewer, no update is acknowledged. */
  readonly minInSync: number;
  /** Entries kept beside the newest. */
  readonly keep: number;
  get(key: string): KeyValue | undefined;
  /** Of all keys. */
  keyNames(): readonly string[];
  /** Names in a folder on the disk of that pserver. */
  filesOf(index: number): readonly string[];
  /** True once a byte on the disk of that pserver was changed. */
  wasDamaged(index: number): boolean;
  /** True once the disk of that pserver was full, or its folder absent. */
  refusedWrites(index: number): boolean;
  nowMs(): number;
  /** Since when nothing goes wrong; infinite while something does. */
  calmSinceMs(): number;
  count(what: string): void;
  violated(what: string): void;
}

export interface Written {
  readonly process: SimulatedProcess;
  readonly key: string;
  readonly value: string;
  /** What was there before. */
  readonly before: KeyValue | undefined;
}

/** A put of a transaction that did nothing. */
export type Refused = Pick<Written, 'process' | 'key' | 'value'>;

export interface Answered {
  /** Who asked. */
  readonly client: SimulatedProcess;
  readonly server: SimulatedProcess;
  readonly request: RequestHeader;
  readonly outcome: ReplyHeader | PaddletError;
}

export interface Oracle {
  /** A transaction of the process put this key; the world has it already. */
  readonly wrote?: (written: Written) => void;
  /** A transaction of the process was answered, and did not put this key. */
  readonly refused?: (refused: Refused) => void;
  /** A request was answered, well or not; the answer is about to leave. */
  readonly answered?: (answered: Answered) => void;
  /** A process ended by itself, with this exit code. */
  readonly ended?: (process: SimulatedProcess, code: number) => void;
  /** A process of that pserver removed a file. */
  readonly removed?: (index: number, path: string) => void;
}

/** The index of a pserver's process. */
export const indexOf = (process: SimulatedProcess): number => Number(process.name.slice('pserver '.length));
