/** What a simulated disk holds, and what a crash leaves of it. */

/** A write may be torn at these boundaries. */
const SECTOR_BYTES = 512;

export interface Inode {
  bytes: Uint8Array<ArrayBuffer>;
  size: number;
  /** The content at the last sync. */
  durable: Uint8Array<ArrayBuffer>;
  /** Writes since then. */
  pending: { readonly offset: number; readonly bytes: Uint8Array }[];
  modifiedMs: number;
  readonly inode: number;
}

export type Entry = Inode | 'folder';
export type Folders = Map<string, Map<string, Entry>>;

/** A change of a folder, durable only after the folder was synced. */
export type FolderChange =
  | { readonly type: 'add'; readonly folder: string; readonly name: string; readonly entry: Entry }
  | { readonly type: 'remove'; readonly folder: string; readonly name: string }
  | {
      readonly type: 'rename';
      readonly folder: string;
      readonly from: string;
      readonly name: string;
      readonly entry: Entry;
    };

let inodes = 0;

export const createInode = (bytes: Uint8Array, modifiedMs: number): Inode => ({
  bytes: new Uint8Array(bytes),
  size: bytes.length,
  durable: new Uint8Array(bytes),
  pending: [],
  modifiedMs,
  inode: ++inodes,
});

export const cloneFolders = (folders: Folders): Folders =>
  new Map([...folders].map(([path, entries]) => [path, new Map(entries)]));

export function writeInto(inode: Inode, bytes: Uint8Array, offset: number): void {
  const end = offset + bytes.length;
  if (end > inode.bytes.length) {
    const grown = new Uint8Array(Math.max(end, inode.bytes.length * 2));
    grown.set(inode.bytes.subarray(0, inode.size));
    inode.bytes = grown;
  }
  inode.bytes.set(bytes, offset);
  inode.size = Math.max(inode.size, end);
}

export const joinPath = (folder: string, name: string): string => `${folder === '/' ? '' : folder}/${name}`;

export function applyChange(folders: Folders, change: FolderChange): void {
  let entries = folders.get(change.folder);
  if (entries === undefined) {
    entries = new Map();
    folders.set(change.folder, entries);
  }
  if (change.type === 'remove') {
    entries.delete(change.name);
    return;
  }
  if (change.type === 'rename') entries.delete(change.from);
  entries.set(change.name, change.entry);
}

/** The files as a crash leaves them: each unsynced write is there, lost, or torn; bytes never written are zeros. */
export function survivors(folders: Folders, fraction: () => number): Folders {
  const restored = new Map<Inode, Inode>();
  const restore = (inode: Inode): Inode => {
    const known = restored.get(inode) ?? restoreInode(inode, fraction);
    restored.set(inode, known);
    return known;
  };
  const reached: Folders = new Map();
  const visit = (path: string): void => {
    const entries = new Map<string, Entry>();
    reached.set(path, entries);
    for (const [name, entry] of folders.get(path) ?? []) {
      entries.set(name, entry === 'folder' ? entry : restore(entry));
      if (entry === 'folder') visit(joinPath(path, name));
    }
  };
  visit('/');
  return reached;
}

function restoreInode(inode: Inode, fraction: () => number): Inode {
  const fresh = createInode(inode.durable, inode.modifiedMs);
  for (const write of inode.pending) {
    const fate = fraction();
    if (fate < 0.34) continue;
    const sectors = Math.ceil(write.bytes.length / SECTOR_BYTES);
    const kept = fate < 0.67 ? write.bytes.length : Math.floor(fraction() * sectors) * SECTOR_BYTES;
    writeInto(fresh, write.bytes.subarray(0, kept), write.offset);
  }
  return createInode(fresh.bytes.subarray(0, fresh.size), fresh.modifiedMs);
}
