/** How long the rounds of a job in sync mode take lately, to tell a lane that is late from one in progress. Pure. */

/** A round is late at this many times the typical time of the recent ones, which half of them needed less than. */
const FACTOR = 4;
const RECENT = 15;
/** Fewer rounds say nothing: the first ones read data. */
const LEAST = 3;

export interface RoundPace {
  finished(ms: number): void;
  /** Age from which a round is late; undefined while too little is known. */
  lateMs(): number | undefined;
}

export function createRoundPace(floorMs: number): RoundPace {
  const recent: number[] = [];
  return {
    finished(ms) {
      recent.push(ms);
      if (recent.length > RECENT) recent.shift();
    },
    lateMs() {
      if (recent.length < LEAST) return undefined;
      const typical = [...recent].sort((a, b) => a - b)[Math.floor(recent.length / 2)]!;
      return Math.max(floorMs, FACTOR * typical);
    },
  };
}
