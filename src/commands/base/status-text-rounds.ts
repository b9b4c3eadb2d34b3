/** Where the rounds of a job in mode sync stand, for people. */
import * as z from 'zod';

/** The part of a master's description that is shown. */
export const roundsSchema = z.object({
  total: z.number(),
  /** These four are there when all pservers are. */
  round: z.number().optional(),
  pass: z.number().optional(),
  ofPass: z.object({ round: z.number(), rounds: z.number() }).optional(),
  records: z.number().optional(),
  /** The trainers of each lane, its own first. */
  lanes: z.array(z.array(z.string())),
  helped: z.number(),
  pservers: z.array(
    z.object({
      index: z.number(),
      timeline: z.number(),
      version: z.number(),
      missing: z.array(z.number()),
      waitedMs: z.number(),
    }),
  ),
  timeline: z.number().optional(),
  cut: z.object({ round: z.number(), files: z.number() }).optional(),
  cuts: z.object({ complete: z.number(), givenUp: z.number() }),
  /** The round that is being saved. */
  cutting: z.number().optional(),
});
export type RoundsStanding = z.infer<typeof roundsSchema>;

/** A round that takes longer is worth a word. */
const SLOW_MS = 1_000;

export function roundsText(rounds: RoundsStanding, passes: number, waiting: string): string[] {
  const { round, pass, ofPass, total, cut, timeline, cutting, helped } = rounds;
  const lines: string[] = [];
  if (round !== undefined && pass !== undefined) {
    const within = ofPass === undefined ? '' : `, ${ofPass.round} of ${ofPass.rounds} in the pass`;
    lines.push(`pass ${Math.min(pass + 1, passes)} of ${passes}, round ${round} of ${total}${within}`);
  }
  lines.push(...lanesText(rounds.lanes));
  if (helped > 0) lines.push(`late lanes that a second trainer was asked to compute too: ${helped}`);
  if (cut !== undefined) {
    const last = cut.round === 0 ? 'none yet' : `round ${cut.round}, ${cut.files} files`;
    const setBack = timeline === undefined || timeline === 0 ? '' : `; timeline ${timeline}`;
    lines.push(`last cut: ${last}${cutting === undefined ? '' : `; round ${cutting} is being saved`}${setBack}`);
  }
  const slow = rounds.pservers.filter(({ waitedMs, missing }) => waitedMs > SLOW_MS && missing.length > 0);
  for (const { index, version, missing, waitedMs } of slow) {
    lines.push(
      `pserver ${index}: round ${version} lacks lanes ${spans(missing)} for ${(waitedMs / 1000).toFixed(1)} s`,
    );
  }
  const isIdle = round === undefined || rounds.lanes.some((trainers) => trainers.length === 0);
  if (isIdle || slow.length > 0) lines.push(`waiting: ${waiting}`);
  return lines;
}

/** One line for those who have the same lanes. */
function lanesText(lanes: readonly (readonly string[])[]): string[] {
  const byOwner = new Map<string, number[]>();
  lanes.forEach((trainers, lane) => {
    const who = trainers.length === 0 ? 'nobody' : `trainer ${trainers.join(' and ')}`;
    byOwner.set(who, [...(byOwner.get(who) ?? []), lane]);
  });
  return [...byOwner].map(([who, mine]) => `lanes ${spans(mine)}: ${who}`);
}

/** `0-3, 5` of ascending numbers. */
function spans(numbers: readonly number[]): string {
  const parts: { from: number; to: number }[] = [];
  for (const number of numbers) {
    const last = parts.at(-1);
    if (last !== undefined && number === last.to + 1) last.to = number;
    else parts.push({ from: number, to: number });
  }
  return parts.map(({ from, to }) => (from === to ? `${from}` : `${from}-${to}`)).join(', ');
}
