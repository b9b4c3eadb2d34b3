/** Histories of the task queue that people read, replayed: see stories/README.md. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { replay } from './story.ts';

const FOLDER = join(import.meta.dirname, 'stories');
const isUpdate = process.env.UPDATE_STORIES === '1';
const stories = readdirSync(FOLDER).filter((name) => name.endsWith('.txt'));

describe('the story', () => {
  it.each(stories)('%s has the effects that are written', (name) => {
    const path = join(FOLDER, name);
    const text = readFileSync(path, 'utf8');
    const told = replay(text);
    if (isUpdate) writeFileSync(path, told);
    expect(isUpdate ? told : text).toBe(told);
  });

  it('is told for the cases that matter', () => {
    expect(stories.sort()).toEqual([
      'a-late-finish-is-refused.txt',
      'a-master-restarts.txt',
      'a-stragglers-task-is-copied.txt',
      'a-task-is-discarded-and-the-pass-ends.txt',
      'a-trainer-dies.txt',
    ]);
  });
});

describe('the replay', () => {
  it('writes other effects than those that a story claims', () => {
    const story = 'queue tasks=1\njoined ann\nget ann\n----\nnothing\n';
    const told = replay(story);
    expect(told).toContain('deal 0/0#1 of ann');
    expect(replay(told)).toBe(told);
  });

  it('refuses what is no command', () => {
    expect(() => replay('queue tasks=1\nsleep ann\n')).toThrow('no command of a story: sleep');
    expect(() => replay('joined ann\n')).toThrow('a story begins with queue');
    expect(() => replay('queue tasks=1\nfinish ann 3\n')).toThrow('names an attempt');
  });
});
