import type { Answer, CallOptions, Connection, Image } from "./connection.js";
import { BelljarError, RunFailed } from "./errors.js";

/** How a run ended. A program that fails by itself has `completed`, with an exit code that is not 0. */
export type Status = "completed" | "crashed" | "timed_out" | "limit_exceeded" | "cancelled";

/** What runs programs. */
export type Engine = "wasm" | "native";

/** What came of a run. `docs/reference/result.md` of belljar says more of each field. */
export interface RunResult {
  status: Status;
  /** Whether it completed with exit code 0. */
  ok: boolean;
  /** Null unless it completed. */
  exitCode: number | null;
  /** `SIGSEGV` …, if it crashed. */
  signal: string | null;
  /** `memory`, `cpu` or `disk`, if it was ended for one. */
  limit: string | null;
  stdout: string;
  stderr: string;
  /** Bytes that `stdout` and `stderr` do not have: their middle. */
  dropped: { stdout: number; stderr: number };
  /** The compiler's warnings. */
  diagnostics?: string;
  /** Value of the last expression, if it is plain data. As JSON has it: integers above 2^53 are rounded. */
  result?: unknown;
  /** Otherwise, its printed form. */
  resultRepr?: string;
  /** What went wrong, from the program's own words. */
  error?: { kind: string; message: string; line?: number; hint?: string };
  /** Pictures that it showed, then those that it wrote, as far as an answer has room. All are in `displays` and `files`. */
  images: Image[];
  /** Pictures, tables and specifications that it showed. */
  displays: Display[];
  /** What it made or changed in its workspace. */
  files: OutputFile[];
  skippedFiles: { path: string; reason: string }[];
  session?: string;
  /** `lost` when the session's variables are gone, and its files are there; `gone` when they are not. */
  state?: "lost" | "gone";
  engine: Engine;
  runtime: { language: string; version?: string; tool: string };
  /** Why another engine took over. */
  promoted?: { from: Engine; reason: string };
  /** Packages that were made ready for it. */
  packages?: { installed: Package[]; ms: number; cached: boolean; unknown?: string[]; problem?: string };
  /** Which walls stood around the run, and what it was granted outside of them. */
  isolation: { level: string; missing: string[]; granted?: string[]; memory: string; processes: string };
  usage: {
    wallMs: number;
    cpuMs: number;
    cpuSource: string;
    peakMemoryBytes: number;
    memorySource: string;
  };
  /** All of this in words, for a model to read. */
  text: string;
  /** The result itself if it is `ok`; otherwise throws `RunFailed`. */
  check(): RunResult;
  /** All of a stream, up to 8 MiB, for 15 minutes. The same as above where nothing was dropped. */
  readAll(stream: "stdout" | "stderr", options?: CallOptions): Promise<string>;
}

/** A package of PyPI or npm. */
export interface Package {
  name: string;
  version: string;
}

/** Something that a run showed. Belljar has it for 15 minutes. */
export class Display {
  readonly mime: string;
  /** In bytes. */
  readonly size: number;
  readonly #read: (options?: CallOptions) => Promise<Uint8Array>;

  /** @internal */
  constructor(wire: WireContent, connection: Connection) {
    this.mime = wire.mime;
    this.size = wire.bytes;
    this.#read = (options) => {
      if (wire.uri === undefined) throw new BelljarError("it was too large to be kept");
      return connection.read(wire.uri, options);
    };
  }

  async bytes(options?: CallOptions): Promise<Uint8Array> {
    return await this.#read(options);
  }

  async text(options?: CallOptions): Promise<string> {
    return new TextDecoder().decode(await this.#read(options));
  }
}

/** A file that a run made or changed. Belljar has it for 15 minutes, or as long as the session has it. */
export class OutputFile extends Display {
  readonly path: string;

  /** @internal */
  constructor(wire: WireContent & { path: string }, connection: Connection) {
    super(wire, connection);
    this.path = wire.path;
  }
}

interface WireContent {
  mime: string;
  bytes: number;
  uri?: string;
}

/** A result as belljar sends it. */
export interface WireResult {
  status: Status;
  exit_code: number | null;
  stdout: string;
  stderr: string;
  result?: unknown;
  displays?: WireContent[];
  files: (WireContent & { path: string })[];
  skipped_files?: { path: string; reason: string }[];
  run?: string;
}

/** What is the same there, but for how it is spelt. */
type Renamed = Exclude<
  keyof RunResult,
  "ok" | "result" | "images" | "displays" | "files" | "skippedFiles" | "text" | "check" | "readAll"
>;

/** A result as callers see it. */
export function runResult({ structured, text, images }: Answer<WireResult>, connection: Connection): RunResult {
  const { result, displays = [], files, skipped_files = [], run, ...rest } = structured;
  return {
    ...(camelCased(rest) as Pick<RunResult, Renamed>),
    // The program's own data.
    ...("result" in structured && { result }),
    ok: rest.exit_code === 0,
    images,
    displays: displays.map((it) => new Display(it, connection)),
    files: files.map((it) => new OutputFile(it, connection)),
    skippedFiles: skipped_files,
    text,
    check() {
      if (!this.ok) throw new RunFailed(this);
      return this;
    },
    async readAll(stream, options) {
      if (run === undefined) return structured[stream];
      const recorded = new TextDecoder().decode(await connection.read(`run://${run}/${stream}`, options));
      // A run that is kept for its files alone has no recording.
      return recorded === "" ? structured[stream] : recorded;
    },
  };
}

/** The same with names as JavaScript has them. */
export function camelCased(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(camelCased);
  if (typeof value !== "object" || value === null) return value;
  const renamed = (name: string) => name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(value).map(([name, it]) => [renamed(name), camelCased(it)]));
}
