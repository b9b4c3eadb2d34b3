/**
 * The pipe that ties a child to the process that started it: its stdin, to which only that process writes. It ends when
 * the parent exits, even by SIGKILL. A guard also forwards signals through it.
 */
import { createInterface } from 'node:readline';
import type { Cancel } from '../base/seams.ts';

/** Set in a child that has the pipe: who holds the other end, and for how long the child may stop after its loss. */
export const TETHER = 'PADDLET_TETHER';

const PARENTS = ['launcher', 'guard'] as const;
export type Parent = (typeof PARENTS)[number];

export interface Tether {
  readonly parent: Parent;
  /** How long the child may take to stop when the parent has exited. */
  readonly stopLimitMs: number;
}

export const tetherText = (tether: Tether | undefined): string =>
  tether === undefined ? '' : `${tether.parent}:${tether.stopLimitMs}`;

/** That of this process; undefined when no other process holds one. */
function ownTether(): Tether | undefined {
  const [name, limit] = (process.env[TETHER] ?? '').split(':');
  const parent = PARENTS.find((one) => one === name);
  const stopLimitMs = Number(limit);
  return parent !== undefined && stopLimitMs > 0 ? { parent, stopLimitMs } : undefined;
}

/** Undefined when no other process holds the tether of this one. */
export const tetheredTo = (): Parent | undefined => ownTether()?.parent;

/** Calls `run` when the process that holds the tether has exited. Does not keep this process alive. */
export function onTetherLost(run: (tether: Tether) => void): Cancel {
  const tether = ownTether();
  if (tether === undefined) return () => {};
  const { stdin } = process;
  let cancelled = false;
  const lost = (): void => {
    if (!cancelled) run(tether);
  };
  stdin.once('end', lost);
  stdin.once('error', lost);
  stdin.resume();
  unref();
  return () => {
    cancelled = true;
  };
}

export const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
export type ForwardedSignal = (typeof FORWARDED)[number];

/**
 * Calls `run` for each signal that the guard forwards. A signal itself would not do: a service manager sends SIGTERM to
 * guard and child alike, and the forwarded one would be the child's second, which ends it at once.
 */
export function onForwarded(run: (signal: ForwardedSignal) => void): void {
  if (ownTether()?.parent !== 'guard') return;
  createInterface({ input: process.stdin }).on('line', (line) => {
    const signal = FORWARDED.find((name) => name === line);
    if (signal !== undefined) run(signal);
  });
  unref();
}

const unref = (): void => (process.stdin as { unref?: () => void }).unref?.();
