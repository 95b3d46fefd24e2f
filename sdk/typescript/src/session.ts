import { decoded, encoded, joined } from "./bytes.js";
import type { Answer, CallOptions, Connection, LiveOptions } from "./connection.js";
import { Refused } from "./errors.js";
import type { RunResult } from "./result.js";
import {
  type InstalledPackages,
  type LanguageOption,
  type ListedPackages,
  type RunEvent,
  type RunOptions,
  Runner,
} from "./run.js";

/** A file or folder of a workspace. */
export interface Entry {
  path: string;
  kind: "file" | "folder" | "other";
  /** In bytes. */
  size: number;
  /** What its name promises. */
  mime: string;
}

/** What a workspace holds. With `more`, there is more than that: list a folder. */
export interface Listing {
  files: Entry[];
  more: boolean;
}

/** A part of a file, and where the next one starts. */
interface FilePart {
  bytes: Uint8Array;
  next: number | undefined;
}

/** Bytes of a file in one answer, where they can take twelve times as much. */
const PART = 512 * 1024;

/**
 * A workspace that stays, and interpreters that stay in it: variables, imports and files of earlier runs are there.
 *
 * The first use opens it. It ends when it is closed, does nothing for half an hour, or belljar ends.
 */
export class Session implements AsyncDisposable {
  readonly name: string;
  readonly #connection: Connection;
  readonly #runner: Runner;

  /** @internal */
  constructor(connection: Connection, name: string) {
    this.name = name;
    this.#connection = connection;
    this.#runner = new Runner(connection, name);
  }

  /** Runs a program that goes on where the last one stopped. */
  async run(code: string, options: RunOptions = {}): Promise<RunResult> {
    return await this.#runner.run(code, options);
  }

  /** The same, telling what it prints. Leaving the loop ends the run. */
  stream(code: string, options: RunOptions = {}): AsyncIterable<RunEvent> {
    return this.#runner.stream(code, options);
  }

  /** Puts a file into the workspace. Folders are made. */
  async writeFile(
    path: string,
    contents: string | Uint8Array,
    { append = false, ...options }: CallOptions & { append?: boolean } = {},
  ): Promise<void> {
    await this.#call("write_file", { path, append, ...encoded(contents) }, options);
  }

  /** All bytes of a file. */
  async readFile(path: string, options: CallOptions = {}): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let next: number | undefined = 0; next !== undefined; ) {
      const part: FilePart = await this.#readPart(path, next, options);
      parts.push(part.bytes);
      next = part.next;
    }
    return joined(parts);
  }

  /** All of a file as text. */
  async readText(path: string, options: CallOptions = {}): Promise<string> {
    return new TextDecoder().decode(await this.readFile(path, options));
  }

  /** What is in the workspace, or in one of its folders. */
  async listFiles(path?: string, options: CallOptions = {}): Promise<Listing> {
    type Listed = { files: (Omit<Entry, "size"> & { bytes: number })[]; more: boolean };
    const { structured } = await this.#call<Listed>("list_files", { path }, options);
    const { files, more } = structured;
    return { files: files.map(({ bytes, ...file }) => ({ ...file, size: bytes })), more };
  }

  /** Makes packages importable here. */
  async install(packages: string[], options: LiveOptions & LanguageOption = {}): Promise<InstalledPackages> {
    return await this.#runner.install(packages, options);
  }

  /** What was made importable here; with names, which of these were. */
  async packages(names: string[] = [], options: CallOptions & LanguageOption = {}): Promise<ListedPackages> {
    return await this.#runner.packages(names, options);
  }

  /** A copy of everything, to try something with. Only in WebAssembly. */
  async fork(name: string = crypto.randomUUID(), options: CallOptions = {}): Promise<Session> {
    await this.#call("fork_session", { as: name }, options);
    return new Session(this.#connection, name);
  }

  /** Keeps everything on disk under this name, for `restore`. Only in WebAssembly. */
  async save(name: string, options: CallOptions = {}): Promise<void> {
    await this.#call("save_session", { as: name }, options);
  }

  /** Opens it from what `save` kept under `saved`, also of an earlier belljar. */
  async restore(saved: string, options: CallOptions = {}): Promise<this> {
    await this.#connection.call("restore_session", { session: saved, as: this.name }, options);
    return this;
  }

  /** Ends it, also while something runs in it. */
  async close(options: CallOptions = {}): Promise<void> {
    await this.#call("close_session", {}, options);
  }

  /** Ends it, if it was opened and is still there. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close().catch((error: unknown) => {
      if (!(error instanceof Refused)) throw error;
    });
  }

  async #readPart(path: string, offset: number, options: CallOptions): Promise<FilePart> {
    type Read = { text?: string; base64?: string; next_offset?: number };
    const { structured, images } = await this.#call<Read>("read_file", { path, offset, limit: PART }, options);
    const { text, base64 = "", next_offset: next } = structured;
    return { bytes: images[0]?.data ?? (text === undefined ? decoded(base64) : Buffer.from(text)), next };
  }

  async #call<Structured>(tool: string, given: object, options: CallOptions): Promise<Answer<Structured>> {
    return await this.#connection.call<Structured>(tool, { session: this.name, ...given }, options);
  }
}
