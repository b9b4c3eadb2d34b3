/**
 * A storage that also reads checkpoint files of other pservers: if a file is not on this machine, it asks the pserver
 * that wrote the file. Because units move, the newest state of a shard may be in a file of any pserver. Without a
 * shared folder, only that pserver can read it (docs/decisions/0034-files-through-their-pserver.md).
 */
import { isPaddletError, PaddletError } from '../../../base/errors.ts';
import { isAbsent } from '../../../base/files.ts';
import type { Storage, StoredFile } from '../../../base/seams.ts';
import { UUID_PATTERN } from '../../../checkpoint/file/paths.ts';
import { jobFields } from '../../../cluster/client/job-fields.ts';
import type { RoleContext } from '../../../cluster/context.ts';
import type { JobRecord } from '../../../cluster/job/job-record.ts';
import type { LivePserver, PlacementView } from '../../../cluster/placement/placement-view.ts';
import type { Channel, Network } from '../../../protocol/messages/channel.ts';

export interface PeerStorageOptions {
  readonly storage: Storage;
  readonly network: Network;
  readonly view: Pick<PlacementView, 'live'>;
  readonly job: ReturnType<typeof jobFields>;
  /** The job's checkpoint folder. */
  readonly folder: string;
  /** Index of this pserver. */
  readonly index: number;
}

/** Returns a context whose storage also has the files of other pservers, for reading. */
export function withPeerStorage(
  { host, ...context }: RoleContext,
  { job, ...of }: Pick<PeerStorageOptions, 'storage' | 'view' | 'folder' | 'index'> & { readonly job: JobRecord },
): RoleContext {
  const storage = createPeerStorage({ ...of, network: context.network, job: jobFields(job) });
  return { ...context, host: { ...host, storage } };
}

/** Only opening asks other pservers, and only for files that are absent here. */
export const createPeerStorage = (options: PeerStorageOptions): Storage => ({
  ...options.storage,
  openRange: (path) => openHereOrThere(options, path),
});

async function openHereOrThere(options: PeerStorageOptions, path: string): Promise<StoredFile> {
  try {
    return await options.storage.openRange(path);
  } catch (error) {
    const file = isAbsent(error) ? parseFile(options, path) : undefined;
    const peer = file && options.view.live().find(({ index }) => index === file.index);
    if (file === undefined || peer === undefined) throw error;
    return openThere(options, peer, { path, uuid: file.uuid });
  }
}

/** Index and name of the file, if the path is that of a file of another pserver. */
function parseFile({ folder, index }: PeerStorageOptions, path: string) {
  if (!path.startsWith(`${folder}/`)) return undefined;
  const [owner, uuid, ...rest] = path.slice(folder.length + 1).split('/');
  if (uuid === undefined || rest.length > 0 || !UUID_PATTERN.test(uuid)) return undefined;
  return Number(owner) === index ? undefined : { index: Number(owner), uuid };
}

interface PeerPath {
  readonly path: string;
  readonly uuid: string;
}

/** Waits for the first answer, which shows whether the other pserver has the file. */
async function openThere(options: PeerStorageOptions, peer: LivePserver, named: PeerPath): Promise<StoredFile> {
  const channel = connect(options, peer, named);
  const ask = new PeerFile(options, { channel, peer, named });
  try {
    await ask.begin();
    return ask;
  } catch (error) {
    channel.close();
    throw error;
  }
}

function connect({ network }: PeerStorageOptions, peer: LivePserver, { path }: PeerPath): Channel {
  try {
    return network.connect(peer.address);
  } catch (error) {
    // The other pserver has registered an invalid address.
    throw isPaddletError(error, 'Usage') ? outOfReach(path, peer, error) : error;
  }
}

/** Most bytes to request at a time. */
const PART_BYTES = 1024 * 1024;
/** Includes the time to connect. It is short, so that a pserver that looks for files soon notices a request to stop. */
const OPEN_TIMEOUT_MS = 5_000;
const READ_TIMEOUT_MS = 15_000;

interface PeerSource {
  readonly channel: Channel;
  readonly peer: LivePserver;
  readonly named: PeerPath;
}

class PeerFile implements StoredFile {
  readonly #options: PeerStorageOptions;
  readonly #source: PeerSource;
  /** Size of the whole file, from the first answer. */
  #bytes: number | undefined;

  constructor(options: PeerStorageOptions, source: PeerSource) {
    this.#options = options;
    this.#source = source;
  }

  async begin(): Promise<void> {
    await this.#part(new Uint8Array(1), 0, OPEN_TIMEOUT_MS);
  }

  async read(into: Uint8Array, offset: number): Promise<number> {
    const wanted = Math.max(0, Math.min(into.length, this.#size - offset));
    let done = 0;
    while (done < wanted) {
      const part = into.subarray(done, Math.min(done + PART_BYTES, wanted));
      const count = await this.#part(part, offset + done, READ_TIMEOUT_MS);
      if (count === 0) break;
      done += count;
    }
    return done;
  }

  size(): Promise<number> {
    return Promise.resolve(this.#size);
  }

  get #size(): number {
    return this.#bytes ?? 0;
  }

  close(): Promise<void> {
    this.#source.channel.close();
    return Promise.resolve();
  }

  async #part(into: Uint8Array, offset: number, timeoutMs: number): Promise<number> {
    const { channel, peer, named } = this.#source;
    const place = { index: peer.index, uuid: named.uuid, offset, maxBytes: into.length };
    const header = { type: 'readFile' as const, ...this.#options.job, ...place };
    try {
      const reply = await channel.request({ header }, { timeoutMs });
      try {
        const part = reply.segmentCount === 1 ? reply.segment(0) : undefined;
        const { bytes } = reply.header;
        const isDifferent = part === undefined || part.length > into.length || bytes !== (this.#bytes ?? bytes);
        if (isDifferent) throw anotherPart(named);
        into.set(part);
        this.#bytes = bytes;
        return part.length;
      } finally {
        reply.free();
      }
    } catch (error) {
      if (!isPaddletError(error) || isPaddletError(error, 'CheckpointMissing', 'CheckpointCorrupt')) throw error;
      throw outOfReach(named.path, peer, error);
    }
  }
}

/** The error for a file that cannot be read for now. */
const outOfReach = (path: string, { index, address }: LivePserver, error: PaddletError): PaddletError =>
  new PaddletError(
    'CheckpointMissing',
    `${path} is not on this machine, and pserver ${index} at ${address} does not serve it: ${error.code}: ${error.message}`,
    { details: { isOutOfReach: true }, cause: error },
  );

const anotherPart = ({ path }: PeerPath): PaddletError =>
  new PaddletError(
    'BadMessage',
    `${path}: the answer contains a different part than requested, or a part of a different file`,
  );
