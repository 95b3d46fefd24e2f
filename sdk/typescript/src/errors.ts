import type { RunResult } from "./result.js";

/** Belljar could not do what was asked, and not because of the code. */
export class BelljarError extends Error {
  override name = "BelljarError";
}

/** Belljar did not take the call. The message says why, and what would work. */
export class Refused extends BelljarError {
  override name = "Refused";
}

/** The program did not complete with exit code 0. Only `RunResult.check` throws it. */
export class RunFailed extends BelljarError {
  override name = "RunFailed";
  readonly result: RunResult;

  constructor(result: RunResult) {
    super(ending(result));
    this.result = result;
  }
}

function ending({ status, exitCode, signal, limit, error }: RunResult): string {
  const cause = signal ?? limit;
  const how = status === "completed" ? `exit code ${exitCode}` : cause === null ? status : `${status}: ${cause}`;
  return error === undefined ? how : `${how}; ${error.kind}: ${error.message}`;
}
