/** All that hands out work to trainers hears of those that come and go. */
import { expect, it } from 'vitest';
import { type MasterState, tellAll } from '../../../src/roles/master/state.ts';
import type { TrainerEvent } from '../../../src/roles/master/training.ts';

it('training, evaluation and the choice of who saves the model hear the same', () => {
  const heard: string[] = [];
  const listener = (name: string) => ({ tell: ({ type }: TrainerEvent) => void heard.push(`${name}: ${type}`) });
  const state = {
    training: listener('training'),
    evaluation: { service: listener('evaluation') },
    saves: listener('saves'),
  } as unknown as MasterState;
  tellAll(state, { type: 'gone', trainer: 'a' });
  tellAll({ ...state, evaluation: undefined, saves: undefined }, { type: 'joined', trainer: 'b' });
  expect(heard).toEqual(['training: gone', 'evaluation: gone', 'saves: gone', 'training: joined']);
});
