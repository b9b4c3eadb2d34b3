/** The contract of the dealer of lanes: what goes into `step` and what comes out (see ../README.md). */

export interface LaneDealerOptions {
  readonly lanes: number;
  readonly minTrainers: number;
  readonly maxTrainers: number;
  /** No lane is late before this. */
  readonly floorMs: number;
  /**
   * Number of the first assignment; default 1. A master that follows another one starts without state, and trainers ask
   * it as if they had no assignment.
   */
  readonly firstNumber?: number;
}

export type LaneEvent =
  /** All live trainers; new ones in the order in which they joined. */
  | { readonly type: 'roster'; readonly trainers: readonly string[] }
  | { readonly type: 'joined' | 'gone'; readonly trainer: string }
  /** The trainer is about to leave, and says so: lanes that it has not computed are not failures. */
  | { readonly type: 'left'; readonly trainer: string }
  /**
   * The lowest version of all pservers and the lanes missing in those that have it. None missing means that no pserver
   * waits for lanes.
   */
  | {
      readonly type: 'rounds';
      readonly timeline: number;
      readonly version: number;
      readonly missing: readonly number[];
    }
  /** It wants to know its lanes: one that had left is back. */
  | { readonly type: 'asks'; readonly trainer: string }
  /** A trainer could not compute the lane; of one that does not have it, this counts nothing. */
  | { readonly type: 'failed'; readonly trainer: string; readonly round: number; readonly lane: number }
  | { readonly type: 'tick' };

export type LaneEffect =
  /** Another assignment than before: trainers that wait for one are answered. */
  | { readonly type: 'assigned'; readonly number: number }
  /** Ask the pservers for their versions now, and report them. */
  | { readonly type: 'look' }
  | {
      readonly type: 'late';
      readonly round: number;
      readonly lane: number;
      readonly slow: string;
      readonly trainer: string;
    }
  /** One more failure of a lane in this round; `failures` in all. `died`: its trainer has left. */
  | {
      readonly type: 'failure';
      readonly round: number;
      readonly lane: number;
      readonly trainer: string;
      readonly failures: number;
      readonly died: boolean;
    };

export interface LaneAssignment {
  /** Rises with each change. */
  readonly number: number;
  /** The trainers of each lane; the first is its own, the others help. None while too few trainers live. */
  readonly owners: readonly (readonly string[])[];
}

export interface LaneDealer {
  /** `now` is on any clock that does not go back. */
  step(event: LaneEvent, now: number): LaneEffect[];
  nextDeadline(): number | undefined;
  assignment(): LaneAssignment;
  /** How many more must join before lanes are handed out. */
  missingTrainers(): number;
  /** Whether a trainer may say that it cannot compute the lane in that round: it has the lane, and the round is due. */
  hasLane(trainer: string, round: number, lane: number): boolean;
  /** How often the lane failed or lost its trainer in that round, whatever the timeline. */
  failures(round: number, lane: number): number;
  /** Lanes that another trainer was asked to compute too, so far. */
  helped(): number;
}
