/** Lines of CSV that are longer than a record may be, of all shapes: tens of megabytes each. */
import { test } from 'vitest';
import { LIMITS } from '../../../../src/base/limits.ts';
import { expectTooLong } from './read-files.ts';

const MiB = 1 << 20;

test.each([
  ['plain', `1,${'x'.repeat(LIMITS.recordBytes)}`, 0],
  ['much longer', `1,${'x'.repeat(100 * MiB)}`, 0],
  ['with line breaks at its beginning', `1,"a\n\nb"${'x'.repeat(LIMITS.recordBytes)}`, 2],
  ['with line breaks at its end', `1,${'x'.repeat(LIMITS.recordBytes)},"a\n""b,\n"`, 2],
  ['with line breaks all over', `1,"a${'1,a\n'.repeat(5 * MiB)}"`, 5 * MiB],
  ['of many quoted fields', `1${',"x"'.repeat(LIMITS.recordBytes / 4)}`, 0],
])('%s', (_, long, breaks) => expectTooLong(long, breaks));
