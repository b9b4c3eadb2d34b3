import { acknowledgedPushes, acknowledgedVersions } from './acknowledged.ts';
import { conclusion } from './conclusion.ts';
import { copies } from './copies.ts';
import { drained } from './drained.ts';
import { enoughCopies } from './enough-copies.ts';
import { files } from './files.ts';
import { history } from './history.ts';
import { leading } from './leading.ts';
import { LedUnits } from './led-units.ts';
import { moves } from './moves.ts';
import type { Oracle, World } from './oracle.ts';
import { ownership } from './ownership.ts';
import { restores } from './restores.ts';
import { rounds } from './rounds.ts';

export function allOracles(world: World): Oracle[] {
  const led = new LedUnits(world);
  const common = [ownership, leading, copies, enoughCopies, moves, restores, files, drained, conclusion, history];
  const ofMode = world.mode === 'async' ? [acknowledgedPushes] : [acknowledgedVersions, rounds];
  return [led, ...[...common, ...ofMode].map((make) => make(world, led))];
}
