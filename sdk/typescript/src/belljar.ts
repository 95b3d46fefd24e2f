import { type CallOptions, Connection, type LiveOptions, type StartOptions } from "./connection.js";
import { camelCased, type Engine, type RunResult } from "./result.js";
import {
  type InstalledPackages,
  type LanguageOption,
  type ListedPackages,
  type RunEvent,
  type RunOptions,
  Runner,
} from "./run.js";
import { Session } from "./session.js";

/** What can be run, and within which limits. */
export interface Runtimes {
  languages: { language: string; name: string; aliases: string[]; version?: string; engines: Engine[] }[];
  /** Languages that belljar knows and cannot run here. */
  unavailable: { language: string; reason: string }[];
  /** What a run gets that asks for nothing. */
  defaults: Limits;
  /** The most that one can ask for. */
  ceilings: Limits;
  network: string;
  /** Folders of the host that every run has. */
  folders?: string[];
}

export interface Limits {
  timeoutMs: number;
  memoryMb: number;
  workspaceMb: number;
  files: number;
  processes: number;
}

/** A session that is open. */
export interface SessionInfo {
  session: string;
  engine?: Engine;
  /** Those that have live variables. */
  languages: string[];
  state: "idle" | "busy";
  expiresInS: number;
}

/** The Python that native runs use. */
export interface Environment {
  type: "venv" | "uv" | "conda" | "host";
  path?: string;
  python: string;
  version: string;
}

/** A belljar of one's own: `belljar serve`, started by this process and ended with it. Calls may be made side by side. */
export class Belljar implements AsyncDisposable {
  readonly #connection: Connection;
  readonly #runner: Runner;

  private constructor(connection: Connection) {
    this.#connection = connection;
    this.#runner = new Runner(connection);
  }

  /** Starts one. Close it, or have `await using` do so: this process goes on while it is open. */
  static async start(options: StartOptions = {}): Promise<Belljar> {
    return new Belljar(await Connection.open(options));
  }

  /** Runs a program in a sandbox of its own. However it ends, that is a result; `Refused` is thrown when it was not started. */
  async run(code: string, options: RunOptions = {}): Promise<RunResult> {
    return await this.#runner.run(code, options);
  }

  /** The same, telling what it prints. Leaving the loop ends the run. */
  stream(code: string, options: RunOptions = {}): AsyncIterable<RunEvent> {
    return this.#runner.stream(code, options);
  }

  /** The session of this name; the first use opens it. Up to 64 letters, digits, `-`, `_` and `.`; by default a name that nobody else has. */
  session(name: string = crypto.randomUUID()): Session {
    return new Session(this.#connection, name);
  }

  /** Sessions that are open. */
  async sessions(options: CallOptions = {}): Promise<SessionInfo[]> {
    return (await this.#ask<{ sessions: SessionInfo[] }>("list_sessions", {}, options)).sessions;
  }

  /** Languages, versions, engines and limits. */
  async runtimes(options: CallOptions = {}): Promise<Runtimes> {
    return await this.#ask("list_runtimes", {}, options);
  }

  /** Makes packages ready, so that runs that import them start at once. */
  async install(packages: string[], options: LiveOptions & LanguageOption = {}): Promise<InstalledPackages> {
    return await this.#runner.install(packages, options);
  }

  /** What the Python of native runs has; with names, which of these it has. */
  async packages(names: string[] = [], options: CallOptions = {}): Promise<ListedPackages> {
    return await this.#runner.packages(names, options);
  }

  /** The Python of native runs. */
  async environment(options: CallOptions = {}): Promise<Environment> {
    return await this.#ask("get_environment", {}, options);
  }

  /** Chooses the Python of native runs, where belljar's operator allows it. */
  async configureEnvironment(
    chosen: { type: Environment["type"]; path?: string; name?: string },
    options: CallOptions = {},
  ): Promise<Environment> {
    return await this.#ask("configure_environment", chosen, options);
  }

  /** Ends belljar, its sessions, and everything that still runs. */
  async close(): Promise<void> {
    await this.#connection.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #ask<T>(tool: string, given: object, options: CallOptions): Promise<T> {
    const { structured } = await this.#connection.call(tool, given, options);
    return camelCased(structured) as T;
  }
}
