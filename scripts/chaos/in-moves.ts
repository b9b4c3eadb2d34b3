/**
 * Faults right within a move of a unit. New lives of pservers are given fail points of a move: they die at one, or stop
 * there for a moment, in which another process dies or the store is hurt.
 */
import { closeSync, existsSync, openSync, readSync, statSync } from 'node:fs';
import { FAIL_POINTS } from '../../src/base/fail-points.ts';
import type { RandomStream } from '../../src/data/synth/random-stream.ts';
import type { Cluster, Slot } from './cluster.ts';
import { type Fault, type Stage, strike, type Target } from './faults.ts';

const POINTS = Object.keys(FAIL_POINTS).filter((point) => point.startsWith('move.'));
const HIT = /^fail point (move\.[a-z]+):(kill|delay)/gm;
const LOOK_MS = 20;
/** A part of a lease: time to strike in. */
const STOPPED = 0.3;
/** The move at which it happens is one of the first of each life. */
const FIRST_MOVES = 4;

export class InMoves {
  /** Who was struck at which point → how often. */
  readonly hits = new Map<string, number>();
  isOver = false;
  readonly #random: RandomStream;
  readonly #victims: readonly Target[];
  readonly #seen = new Map<string, number>();
  /** Points are taken in turn, so that each is. */
  #turn = 0;

  constructor(random: RandomStream, victims: readonly Target[]) {
    this.#random = random;
    this.#victims = victims;
  }

  /** For a life of a pserver that is about to start. */
  failPoint(leaseMs: number): string | undefined {
    const fate = this.#random.uniform();
    if (this.isOver || fate >= 0.75) return undefined;
    const point = POINTS[this.#turn++ % POINTS.length];
    const action = fate < 0.4 ? 'kill' : `delay=${Math.round(STOPPED * leaseMs)}`;
    return `${point}:${action}@${1 + Math.floor(FIRST_MOVES * this.#random.uniform())}`;
  }

  /** Until it is over. */
  async watch(stage: Stage, pause: (ms: number) => Promise<void>): Promise<void> {
    while (!this.isOver) {
      for (const slot of stage.cluster.slots) {
        if (slot.spec.role !== 'pserver') continue;
        for (const [, point, action] of this.#news(stage.cluster, slot).matchAll(HIT)) {
          if (action === 'kill') this.#count(`${roleAt(point!)} killed at ${point}`);
          else await this.#strike(stage, slot, point!);
        }
      }
      await pause(LOOK_MS);
    }
  }

  async #strike(stage: Stage, stopped: Slot, point: string): Promise<void> {
    const target = this.#victims[Math.floor(this.#victims.length * this.#random.uniform())]!;
    const kind = target === 'sqlite' ? 'stopped past its lease' : 'killed';
    const fault: Fault = { target, kind, which: this.#random.uniform(), howLong: this.#random.uniform(), afterMs: 0 };
    stage.say(`${stopped.spec.name} is stopped at ${point}`);
    // The one that acts is among them.
    const times = target === 'master' ? stage.cluster.awake('master').length : 1;
    let isStruck = false;
    for (let time = 0; time < times; time++) isStruck = (await strike(stage, fault)) || isStruck;
    if (isStruck) this.#count(`${target} ${kind} at ${point}`);
  }

  #count(what: string): void {
    this.hits.set(what, (this.hits.get(what) ?? 0) + 1);
  }

  /** What was logged since the last look. */
  #news(cluster: Cluster, { spec }: Slot): string {
    const file = cluster.logOf(spec);
    if (!existsSync(file)) return '';
    const from = this.#seen.get(file) ?? 0;
    const bytes = Buffer.alloc(statSync(file).size - from);
    if (bytes.length === 0) return '';
    const fd = openSync(file, 'r');
    readSync(fd, bytes, 0, bytes.length, from);
    closeSync(fd);
    const whole = bytes.lastIndexOf('\n') + 1;
    this.#seen.set(file, from + whole);
    return bytes.toString('utf8', 0, whole);
  }
}

const SOURCE_POINTS = ['move.offered', 'move.copied', 'move.sealed', 'move.decided'];
const roleAt = (point: string): string => (SOURCE_POINTS.includes(point) ? 'source' : 'target');
