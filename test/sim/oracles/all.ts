import { acknowledgedPushes, acknowledgedVersions } from './acknowledged.ts';
import { conclusion } from './conclusion.ts';
import { files } from './files.ts';
import type { Oracle, World } from './oracle.ts';
import { ownership } from './ownership.ts';
import { restores } from './restores.ts';
import { rounds } from './rounds.ts';

export function allOracles(world: World): Oracle[] {
  const common = [ownership, restores, files, conclusion];
  const ofMode = world.mode === 'async' ? [acknowledgedPushes] : [acknowledgedVersions, rounds];
  return [...common, ...ofMode].map((make) => make(world));
}
