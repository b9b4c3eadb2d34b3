/**
 * Vitest runs this for each test file. A module that files of one process share is loaded once: a hook of its own would
 * belong to the first of them only.
 */
import { afterAll } from 'vitest';
import { removeFolders } from './folders.ts';
import './small-memories.ts';

afterAll(removeFolders);
