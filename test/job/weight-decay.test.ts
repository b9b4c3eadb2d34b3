/** A job that has the decay of weights under another name is refused with the right one. */
import { expect, it } from 'vitest';
import { parseJobFile } from '../../src/job/load-job.ts';

const JOB = { name: 'j', data: { train: 't', format: 'libsvm' }, model: { type: 'lr' } };
const load = (more: object) => parseJobFile('job.yaml', JSON.stringify({ ...JOB, ...more }));

it.each([
  [
    { optimizer: { type: 'sgd', weightDecay: 0.1 } },
    'optimizer.weightDecay',
    'l2 with type "sgd", or weightDecay with',
  ],
  [{ optimizer: { type: 'adam', weight_decay: 0.1 } }, 'optimizer.weight_decay', 'l2 with type "adam", or weightDecay'],
  [{ optimizer: { type: 'adamw', weight_decay: 0.1 } }, 'optimizer.weight_decay', 'of type adamw is weightDecay'],
  [{ optimizer: { type: 'adamw', l2: 0.1 } }, 'optimizer.l2', 'of type adamw is weightDecay'],
  [{ optimizer: { type: 'ftrl', weightDecay: 0.1 } }, 'optimizer.weightDecay', 'of type ftrl is lambda2'],
  [
    { tables: { w: { optimizer: { type: 'adagrad', weightDecay: 1 } } } },
    'tables.w.optimizer.weightDecay',
    '"adagrad"',
  ],
  [{ training: { weight_decay: 0.1 } }, 'training.weight_decay', 'is optimizer.l2, or weightDecay with type adamw'],
  [{ weightDecay: 0.1 }, 'weightDecay', 'is optimizer.l2, or weightDecay with type adamw'],
])('%j', (more, field, message) => {
  expect(() => load(more)).toThrow(`${field}: unknown field here; the decay of weights `);
  expect(() => load(more)).toThrow(message);
});

it('is l2, or weightDecay of adamw', () => {
  expect(load({ optimizer: { type: 'adagrad', l2: 0.1 } }).optimizer).toMatchObject({ l2: 0.1 });
  expect(load({ optimizer: { type: 'adamw', weightDecay: 0.1 } }).optimizer).toMatchObject({ weightDecay: 0.1 });
});
