/**
 * Which trainers of a job in sync mode were late recently. Each time one is, its late lane is computed by another
 * trainer as well for some rounds, the more rounds the more often it was late; one that is late repeatedly gets fewer
 * lanes. While it is helped, whether it is on time again cannot be seen: so help ends, and begins again when it has to.
 * Pure; rounds are counted as they pass, even those that are repeated after a rollback.
 */

/** Rounds that the first help is for; each further one is for twice as many. */
const FIRST_HELP_ROUNDS = 4;
const MOST_STRIKES = 6;
/** The first strikes may be chance: from here on each takes the weight of a lane. */
const STRIKES_FORGIVEN = 1;

interface Slow {
  strikes: number;
  /** A strike is forgiven then. */
  quietAt: number;
}

export interface Slowness {
  /** It was late in a round. For how many rounds it should be helped. */
  strike(trainer: string): number;
  /** The same as at its last strike. */
  helpRoundsOf(trainer: string): number;
  /** True when a strike was forgiven. */
  passed(rounds: number): boolean;
  left(trainer: string): void;
  /** Lanes that it is to have less. */
  handicapOf(trainer: string): number;
  /** Rounds that have passed. */
  rounds(): number;
}

export function createSlowness(): Slowness {
  const slow = new Map<string, Slow>();
  let rounds = 0;
  const helpRounds = (strikes: number): number => FIRST_HELP_ROUNDS * 2 ** (strikes - 1);
  // It is helped for half of that time.
  const quietAt = (strikes: number): number => rounds + 2 * helpRounds(strikes);
  return {
    strike(trainer) {
      const strikes = Math.min(MOST_STRIKES, (slow.get(trainer)?.strikes ?? 0) + 1);
      slow.set(trainer, { strikes, quietAt: quietAt(strikes) });
      return helpRounds(strikes);
    },
    helpRoundsOf: (trainer) => helpRounds(slow.get(trainer)?.strikes ?? 1),
    passed(count) {
      rounds += count;
      let forgave = false;
      for (const [trainer, one] of slow) {
        if (rounds < one.quietAt) continue;
        forgave = true;
        one.strikes -= 1;
        if (one.strikes === 0) slow.delete(trainer);
        else one.quietAt = quietAt(one.strikes);
      }
      return forgave;
    },
    left: (trainer) => void slow.delete(trainer),
    handicapOf: (trainer) => Math.max(0, (slow.get(trainer)?.strikes ?? 0) - STRIKES_FORGIVEN),
    rounds: () => rounds,
  };
}
