/** What the master answers to trainers of a job in sync mode, and to `paddlet checkpoint save`. */
import { PaddletError } from '../../../base/errors.ts';
import type { ReplyHeader, RequestHeader } from '../../../protocol/messages/all-messages.ts';
import type { Outgoing, Session } from '../../../protocol/messages/channel.ts';
import type { SaveMode } from '../../../protocol/messages/to-pserver.ts';
import { type Dataset, taskChunks } from '../dataset.ts';
import type { MasterState } from '../state.ts';
import { whileOpen } from '../while-open.ts';
import type { LaneTraining } from './training.ts';

type LaneRequest = Extract<
  RequestHeader,
  { type: 'getLanes' | 'getPlan' | 'getChunks' | 'failLane' | 'returnLanes' | 'roundStuck' | 'checkpoint' }
>;
type Reply = Outgoing<ReplyHeader>;

export async function answerLanes(state: MasterState, header: LaneRequest, session: Session): Promise<Reply> {
  const { training } = state;
  if (training.mode !== 'sync')
    throw new PaddletError('BadMessage', 'this job is in async mode, which does not have lanes');
  switch (header.type) {
    case 'getLanes':
      return whileOpen(session, async (closed) => {
        const { trainer, known, maxWaitMs } = header;
        const { number, done, until, owners } = await training.service.getLanes({ trainer, known, maxWaitMs, closed });
        const saveModel = state.saves?.isWanted() === true ? { saveModel: true as const } : {};
        return {
          header: {
            type: 'getLanes',
            number,
            done,
            until,
            owners: owners.map((trainers) => [...trainers]),
            ...saveModel,
          },
        };
      });
    case 'getPlan':
      return { header: { type: 'getPlan' }, segments: [bytesOf(training.dataset.taskRecords)] };
    case 'getChunks':
      return { header: { type: 'getChunks', ...chunksOf(training.dataset, header.task) } };
    case 'failLane': {
      const what = training.service.failed(header);
      const { trainer, round, code, error } = header;
      if (what !== undefined) state.failures.failed(trainer, { what, round, code, error });
      return { header: { type: 'failLane' } };
    }
    case 'returnLanes':
      training.service.tell({ type: 'left', trainer: header.trainer });
      return { header: { type: 'returnLanes' } };
    case 'roundStuck':
      await training.stuck(header);
      return { header: { type: 'roundStuck' } };
    case 'checkpoint':
      if (header.final) throw new PaddletError('BadMessage', 'the job is ending and takes its last cut');
      return whileOpen(session, (closed) => takeCut(training, header.mode, closed));
  }
}

async function takeCut({ cuts }: LaneTraining, mode: SaveMode | undefined, closed: AbortSignal): Promise<Reply> {
  const taken = await cuts.request(closed, mode);
  if (taken === undefined) return { header: { type: 'checkpoint', outcome: 'running' } };
  const { round, timeline, files } = taken;
  const cut = { round, timeline, files: files.map((file) => ({ ...file })) };
  return { header: { type: 'checkpoint', outcome: 'saved', cut } };
}

function chunksOf(dataset: Dataset, task: number) {
  if (task >= dataset.tasks.length) {
    throw new PaddletError('BadMessage', `task ${task}: a pass has ${dataset.tasks.length}`);
  }
  return taskChunks(dataset, task);
}

const bytesOf = (numbers: Uint32Array): Uint8Array =>
  new Uint8Array(numbers.buffer, numbers.byteOffset, numbers.byteLength);
