/**
 * Looks at all that can happen to the moves of one unit between two pservers (test/core/units/move-model.ts), in a
 * shape larger than the unit tests take: `node scripts/move-model.ts --updates 1 --moves 2 --crashes 1`. Prints how
 * many worlds there are, or the shortest way to what is wrong, and ends with 1 then. Options: --updates, --moves,
 * --crashes, --lost-answers, --abandons. A million worlds take about half a minute and 2 GB.
 */
import { parseArgs } from 'node:util';
import { explore } from '../test/core/units/move-model.ts';

const count = { type: 'string', default: '0' } as const;
const { values } = parseArgs({
  options: {
    updates: { type: 'string', default: '1' },
    moves: { type: 'string', default: '1' },
    crashes: count,
    'lost-answers': count,
    abandons: count,
  },
});

const began = process.hrtime.bigint();
try {
  const { worlds, ends, highestEpoch } = explore({
    updates: Number(values.updates),
    moves: Number(values.moves),
    crashes: Number(values.crashes),
    lostAnswers: Number(values['lost-answers']),
    abandons: Number(values.abandons),
  });
  const seconds = Number((process.hrtime.bigint() - began) / 1_000_000n) / 1000;
  process.stdout.write(`${worlds} worlds, ${ends} ends, highest epoch ${highestEpoch}, ${seconds} s\n`);
} catch (error) {
  process.stdout.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
