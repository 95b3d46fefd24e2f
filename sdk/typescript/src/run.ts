import { ReadableStream } from "node:stream/web";

import { encoded } from "./bytes.js";
import type { Connection, LiveOptions } from "./connection.js";
import { type Engine, type Package, type RunResult, runResult, type WireResult } from "./result.js";

/** What a run is given. Belljar's operator sets what can be asked for. */
export interface RunOptions extends LiveOptions {
  /** Id or alias, such as `python`, `ts` or `bash`. Default: worked out from the code. */
  language?: string;
  /** What the program reads from standard input. */
  stdin?: string;
  /** Its command line arguments. */
  args?: string[];
  /** C and C++: `-std=…`, `-O2`, `-Wall` … */
  compilerArgs?: string[];
  /** Environment variables. */
  env?: Record<string, string>;
  /** Files of its workspace, by relative path. */
  files?: Record<string, string | Uint8Array>;
  /** Variables that it finds set: plain data (Python, JavaScript, TypeScript). */
  variables?: Record<string, unknown>;
  /** Packages that it imports, such as `pandas>=2` or `zod@^3`. Most are found without this. */
  packages?: string[];
  /** Hosts that it connects to over HTTP, among those that the server allows. */
  network?: string[];
  /** Default: `auto`, which starts in WebAssembly where it can. */
  engine?: "auto" | Engine;
  /** Default: 30,000. */
  timeoutMs?: number;
  /** Default: 512. */
  memoryMb?: number;
}

/** News of a run. The result comes last. */
export type RunEvent = { type: "output"; text: string } | { type: "result"; result: RunResult };

/** Packages that were made ready, and the engine whose runs find them. */
export interface InstalledPackages {
  packages: Package[];
  engine: Engine;
  /** Whether they were there already. */
  cached: boolean;
  ms: number;
}

/** Packages that are there, and those that were asked for and are not. */
export interface ListedPackages {
  packages: Package[];
  missing: string[];
}

/** Whose packages are meant. */
export interface LanguageOption {
  /** Default: `python`. */
  language?: string;
}

/** What runs of a session and runs of their own have in common. */
export class Runner {
  readonly #connection: Connection;
  readonly #session: string | undefined;

  constructor(connection: Connection, session?: string) {
    this.#connection = connection;
    this.#session = session;
  }

  async run(code: string, options: RunOptions): Promise<RunResult> {
    const { files = {}, compilerArgs, timeoutMs, memoryMb, signal, onOutput, ...given } = options;
    const request = {
      ...given,
      code,
      session: this.#session,
      compiler_args: compilerArgs,
      timeout_ms: timeoutMs,
      memory_mb: memoryMb,
      files: Object.entries(files).map(([path, contents]) => ({ path, ...encoded(contents) })),
    };
    const answer = await this.#connection.call<WireResult>("run_code", request, { signal, onOutput });
    return runResult(answer, this.#connection);
  }

  stream(code: string, options: RunOptions): AsyncIterable<RunEvent> {
    const left = new AbortController();
    const signal = options.signal ? AbortSignal.any([options.signal, left.signal]) : left.signal;
    return new ReadableStream<RunEvent>({
      start: (events) => {
        // Some news can be under way when the stream is left, which then takes no more and would throw.
        const onOutput = (text: string) => {
          if (!left.signal.aborted) events.enqueue({ type: "output", text });
        };
        this.run(code, { ...options, signal, onOutput }).then(
          (result) => {
            if (left.signal.aborted) return;
            events.enqueue({ type: "result", result });
            events.close();
          },
          (error: unknown) => {
            if (!left.signal.aborted) events.error(error);
          },
        );
      },
      cancel: () => left.abort(),
    });
  }

  async install(packages: string[], options: LiveOptions & LanguageOption): Promise<InstalledPackages> {
    return await this.#ofPackages("install_packages", packages, options);
  }

  async packages(packages: string[], options: LiveOptions & LanguageOption): Promise<ListedPackages> {
    return await this.#ofPackages("list_packages", packages, options);
  }

  async #ofPackages<T>(tool: string, packages: string[], options: LiveOptions & LanguageOption): Promise<T> {
    const { language, ...rest } = options;
    const { structured } = await this.#connection.call<T>(tool, { packages, language, session: this.#session }, rest);
    return structured;
  }
}
