/** A dealer of lanes with a clock, and what it did. */
import { createLaneDealer } from '../../../src/core/rounds/lane-dealer.ts';
import type { LaneDealer, LaneDealerOptions, LaneEffect, LaneEvent } from '../../../src/core/rounds/lane-events.ts';

export const FLOOR = 1_000;
export const OPTIONS: LaneDealerOptions = { lanes: 8, minTrainers: 1, maxTrainers: 100, floorMs: FLOOR };

export class LaneRig {
  readonly dealer: LaneDealer;
  readonly effects: LaneEffect[] = [];
  now = 0;
  version = 0;
  timeline = 0;
  readonly lanes: number;

  constructor(options: Partial<LaneDealerOptions> = {}) {
    this.lanes = options.lanes ?? OPTIONS.lanes;
    this.dealer = createLaneDealer({ ...OPTIONS, ...options });
  }

  step(event: LaneEvent): LaneEffect[] {
    const effects = this.dealer.step(event, this.now);
    this.effects.push(...effects);
    return effects;
  }

  joined(...trainers: string[]): void {
    for (const trainer of trainers) this.step({ type: 'joined', trainer });
  }

  gone(trainer: string): LaneEffect[] {
    return this.step({ type: 'gone', trainer });
  }

  /** Where the rounds stand: all lanes are missing unless others are named. */
  seen(missing?: readonly number[]): LaneEffect[] {
    const { timeline, version } = this;
    return this.step({
      type: 'rounds',
      timeline,
      version,
      missing: missing ?? Array.from({ length: this.lanes }, (_, i) => i),
    });
  }

  rounds(count: number, tookMs = 100): void {
    for (let i = 0; i < count; i++) {
      this.seen();
      this.now += tookMs;
      this.version += 1;
    }
    this.seen();
  }

  lanesOf(trainer: string): number[] {
    const { owners } = this.dealer.assignment();
    return owners.flatMap(([own], lane) => (own === trainer ? [lane] : []));
  }

  counts(): number[] {
    return [...new Set(this.dealer.assignment().owners.map(([own]) => own))].map((one) => this.lanesOf(one!).length);
  }

  of<T extends LaneEffect['type']>(type: T): Extract<LaneEffect, { type: T }>[] {
    return this.effects.filter((effect): effect is Extract<LaneEffect, { type: T }> => effect.type === type);
  }

  owners(lane: number): readonly string[] {
    return this.dealer.assignment().owners[lane]!;
  }
}
