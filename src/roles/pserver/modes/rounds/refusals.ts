/** Sync mode: the errors with which the pserver refuses requests of trainers. */
import { PaddletError } from '../../../../base/errors.ts';
import type { RoundGates } from '../../../../core/rounds/gates.ts';
import type { GroupRounds } from './group-rounds.ts';

type Gates = RoundGates<GroupRounds>;

export const draining = (): PaddletError =>
  new PaddletError('Draining', 'this pserver is draining and accepts no more lanes');

export const staleTimeline = ({ timeline }: Gates, claimed: number): PaddletError =>
  new PaddletError('StaleTimeline', `the timeline is ${timeline} here, not ${claimed}`, { details: { timeline } });

export function roundAhead(gates: Gates, round: number): PaddletError {
  const version = gates.version();
  const message = `round ${round} has not started here: round ${version} is current`;
  return new PaddletError('RoundAhead', message, { details: { version } });
}

export function versionGone(gates: Gates, wanted: number): PaddletError {
  const version = gates.version();
  return new PaddletError(
    'VersionGone',
    `version ${wanted} is no longer available: the current version is ${version}`,
    { details: { version } },
  );
}

export function pending(gates: Gates, wanted: number): PaddletError {
  const [version, missing] = [gates.version(), gates.missing()];
  const message = `version ${wanted} does not exist yet: round ${version} waits for lanes ${missing.join(', ')}`;
  return new PaddletError('VersionPending', message, { details: { version, missing } });
}
