/**
 * A small parent for one process that was started by hand: it passes signals on to its child and proves the child's
 * death. It does not restart the child: what restarts the guard does that.
 */
import type { ReportedLease } from '../../base/seams.ts';
import type { ProofOfDeath } from './proof-of-death.ts';

export interface GuardedChild<Signal, End> {
  readonly ended: Promise<End>;
  /** Settles when it has ended and all its messages have been read. */
  readonly closed: Promise<void>;
  forward(signal: Signal): void;
}

export interface GuardOptions<Signal, End> {
  readonly name: string;
  readonly proof: ProofOfDeath;
  readonly spawn: (onLease: (told: ReportedLease) => void) => Promise<GuardedChild<Signal, End>>;
  /** Calls `run` for each signal that this process gets. */
  readonly onSignal: (run: (signal: Signal) => void) => void;
}

/** How the child ended; its leases are ended by then, if the store answered. A signal ends the wait for the store. */
export async function guard<Signal, End>(options: GuardOptions<Signal, End>): Promise<End> {
  const { name, proof, spawn, onSignal } = options;
  const life = proof.watch(name);
  const early: Signal[] = [];
  const giveUp = new AbortController();
  let pass = (signal: Signal): void => void early.push(signal);
  onSignal((signal) => pass(signal));
  const child = await spawn((told) => life.told(told));
  pass = (signal) => child.forward(signal);
  for (const signal of early) pass(signal);
  const end = await child.ended;
  pass = () => giveUp.abort();
  life.exited();
  await child.closed;
  await proof.settle(giveUp.signal);
  return end;
}
