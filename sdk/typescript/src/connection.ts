import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";

import { decoded, joined } from "./bytes.js";
import { BelljarError, Refused } from "./errors.js";
import { locate } from "./locate.js";

/** How `belljar serve` is started. */
export interface StartOptions {
  /** The program. Default: what `BELLJAR_BIN` names, else the one that came with this package, else `belljar` on the search path. */
  command?: string;
  /** Its arguments. Default: `["serve"]`. */
  args?: string[];
  /** Added to this process's environment. */
  env?: Record<string, string>;
  /** Its working folder. Default: that of this process. */
  cwd?: string;
  /** What becomes of the words that belljar has for its operator. Default: `"inherit"`. */
  stderr?: "inherit" | "ignore";
}

/** What every call takes. */
export interface CallOptions {
  /** Ends the call and everything that it started. */
  signal?: AbortSignal | undefined;
}

/** What calls take that last. */
export interface LiveOptions extends CallOptions {
  /**
   * Gets output as it comes, and what belljar says while it installs packages: at most ten times a second, and of more than 4 KiB the
   * latest. The result has what this leaves out.
   */
  onOutput?: ((text: string) => void) | undefined;
}

/** A picture. */
export interface Image {
  mime: string;
  data: Uint8Array;
}

/** What a tool answered. */
export interface Answer<Structured> {
  structured: Structured;
  /** For those who read text, such as models. */
  text: string;
  images: Image[];
}

/** The longest that a timer of JavaScript waits. Belljar has its own limits, and a process that ends is noticed. */
const FOREVER = 2 ** 31 - 1;
/** Bytes of a resource in one answer. Escaped in JSON, text takes up to six times as much, and clients take 10 MiB. */
const PART = 512 * 1024;
/** What belljar says when there is nothing new. */
const SIGN_OF_LIFE = /^running, \d+ s$/;

/** A belljar that this process started, and the protocol that it is spoken to in. */
export class Connection {
  readonly #client: Client;
  /** Who listens to the output of which call. */
  readonly #listeners = new Map<unknown, (text: string) => void>();
  #calls = 0;

  private constructor(client: Client) {
    this.#client = client;
    // Not by the client's own `onprogress`: it forgets who listens when it has read the answer, which can come in one piece with the last news.
    client.setNotificationHandler("notifications/progress", ({ params: { progressToken, message = "" } }) => {
      if (!SIGN_OF_LIFE.test(message)) this.#listeners.get(progressToken)?.(message);
    });
  }

  static async open(options: StartOptions): Promise<Connection> {
    const command = options.command ?? locate();
    const transport = new StdioClientTransport({
      command,
      args: options.args ?? ["serve"],
      env: { ...environment(), ...options.env },
      stderr: options.stderr ?? "inherit",
      ...(options.cwd !== undefined && { cwd: options.cwd }),
    });
    const client = new Client({ name: "belljar-typescript", version: "0.1.0" });
    try {
      await client.connect(transport);
    } catch (cause) {
      await client.close();
      throw new BelljarError(`\`${command}\` cannot be started: ${String(cause)}`, { cause });
    }
    return new Connection(client);
  }

  /** Calls a tool. */
  async call<Structured>(name: string, given: object, options: LiveOptions = {}): Promise<Answer<Structured>> {
    const { signal, onOutput } = options;
    const progressToken = ++this.#calls;
    if (onOutput) this.#listeners.set(progressToken, onOutput);
    const params = { name, arguments: { ...given }, ...(onOutput && { _meta: { progressToken } }) };
    const answer = await this.#while(signal, (limits) => this.#client.callTool(params, limits)).finally(() =>
      this.#listeners.delete(progressToken),
    );
    const texts: string[] = [];
    const images: Image[] = [];
    for (const block of answer.content) {
      if (block.type === "text") texts.push(block.text);
      if (block.type === "image") images.push({ mime: block.mimeType, data: decoded(block.data) });
    }
    const text = texts.join("\n");
    if (answer.structuredContent !== undefined) {
      return { structured: answer.structuredContent as Structured, text, images };
    }
    const why = /^Refused: (.*)$/s.exec(text)?.[1];
    throw why === undefined ? new BelljarError(text) : new Refused(why);
  }

  /** Reads all of what a run left. */
  async read(uri: string, options: CallOptions = {}): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let offset = 0; ; offset += PART) {
      const { contents } = await this.#while(options.signal, (limits) =>
        this.#client.readResource({ uri: `${uri}?offset=${offset}&limit=${PART}` }, limits),
      );
      const part = joined(contents.map((it) => ("text" in it ? Buffer.from(it.text) : decoded(it.blob))));
      parts.push(part);
      // Belljar moves the ends of parts by up to three bytes, so as not to cut a character.
      if (part.length < PART - 3) return joined(parts);
    }
  }

  async close(): Promise<void> {
    await this.#client.close();
  }

  /** Makes a request, and says what went wrong as callers know it. */
  async #while<T>(
    signal: AbortSignal | undefined,
    request: (limits: { timeout: number; signal?: AbortSignal }) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    try {
      return await request({ timeout: FOREVER, ...(signal && { signal }) });
    } catch (cause) {
      signal?.throwIfAborted();
      const reason = cause instanceof Error ? cause.message : String(cause);
      throw new BelljarError(reason, { cause });
    }
  }
}

function environment(): Record<string, string> {
  const set = Object.entries(process.env).filter((it): it is [string, string] => it[1] !== undefined);
  return Object.fromEntries(set);
}
