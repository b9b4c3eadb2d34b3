/** docs/unit.md has every message about units, under the names that the protocol gives them, and full paths. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { pserverMessages } from '../../src/protocol/messages/to-pserver.ts';
import { moveMessages, updateHeader } from '../../src/protocol/messages/unit-moves.ts';
import { ROOT } from '../source-files.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');
const PAGE = read('docs/unit.md');

/** Names in the first columns of the tables below a heading, each once. */
function namesBelow(heading: string): string[] {
  const section = PAGE.split(/^#+ /m).find((one) => one.startsWith(`${heading}\n`)) ?? '';
  return [...new Set([...section.matchAll(/^\| `(\w+)` \|/gm)].map(([, name]) => name!))].sort();
}

/** Names of the options of a union that the source defines as a type alone. */
function namesIn(path: string, union: string): string[] {
  const definition = read(path)
    .split(/^export /m)
    .find((one) => one.startsWith(`type ${union} `) || one.startsWith(`type ${union}<`));
  return [...(definition ?? '').matchAll(/readonly type: '(\w+)'/g)].map(([, name]) => name!);
}

const MOVES = 'src/core/units/move-messages.ts';
const COPIES = 'src/core/replicas/messages.ts';
const { content } = moveMessages.moveFrame.request.shape;
const { piece } = content.options[0].shape;

describe('docs/unit.md', () => {
  test.each([
    ['Requests', Object.keys(pserverMessages)],
    [
      'Content of a move',
      [
        ...namesIn(MOVES, 'MoveContent'),
        ...piece.options.map(({ shape }) => shape.part.value),
        ...updateHeader().options.map(({ shape }) => shape.type.value),
      ],
    ],
    ['Answers of a target', namesIn(MOVES, 'MoveAnswer')],
    ['Frames to a copy', namesIn(COPIES, 'ReplicaFrame')],
    ['Answers of a copy', namesIn(COPIES, 'ReplicaAnswer')],
  ])('has all names under "%s"', (heading, names) => {
    expect(names.length).toBeGreaterThan(0);
    expect(namesBelow(heading)).toEqual([...names].sort());
  });

  test('names each file by its path from the root', () => {
    const files = [...PAGE.matchAll(/`([^`\n]+\.ts)`/g)].map(([, path]) => path!);
    expect(files.filter((path) => !path.startsWith('src/'))).toEqual([]);
  });
});
