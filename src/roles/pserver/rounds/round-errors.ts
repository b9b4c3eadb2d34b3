/** What a pserver answers when its rounds are elsewhere than the sender means. */
import { PaddletError } from '../../../base/errors.ts';
import type { RoundGates } from '../../../core/rounds/gates.ts';
import type { Reply } from '../requests.ts';
import type { KeptRounds } from './kept-rounds.ts';

type Gates = RoundGates<KeptRounds>;

export const draining = (): PaddletError =>
  new PaddletError('Draining', 'this pserver is draining and accepts no more lanes');

export const staleTimeline = ({ timeline }: Gates, claimed: number): PaddletError =>
  new PaddletError('StaleTimeline', `the timeline is ${timeline} here, not ${claimed}`, { details: { timeline } });

export function roundAhead(gates: Gates, round: number): PaddletError {
  const version = gates.version();
  return new PaddletError('RoundAhead', `round ${round} has not begun here: round ${version} is current`, {
    details: { version },
  });
}

export const versionGone = (gates: Gates, version: number): PaddletError =>
  new PaddletError('VersionGone', `version ${version} is past: ${gates.version()} here`, {
    details: { version: gates.version() },
  });

export function versionPending(gates: Gates, version: number): PaddletError {
  const missing = gates.missing();
  return new PaddletError(
    'VersionPending',
    `version ${version} does not exist yet: round ${gates.version()} waits for lanes ${missing.join(', ')}`,
    { details: { version: gates.version(), missing } },
  );
}

export const declined = (gates: Gates): Reply => ({
  header: { type: 'cut', outcome: 'declined', version: gates.highest() },
});
