/** Gets a message as it comes. */
export interface MessageSink {
  begin(isBinary: boolean): void;
  /** The next bytes of the message. They are the reader's: not valid after the call. */
  write(bytes: Uint8Array): void;
  /** Where the next bytes of the message may be put directly, at once; undefined to have them by `write`. */
  room(): Uint8Array | undefined;
  /** Reports that `byteLength` bytes were written there. */
  filled(byteLength: number): void;
  end(): void;
}
