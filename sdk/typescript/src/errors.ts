/** Something other than the program went wrong: belljar ended, or failed. */
export class BelljarError extends Error {
  override name = "BelljarError";
}

/** Belljar did not take the call. The message says why, and what would work. */
export class Refusal extends BelljarError {
  override name = "Refusal";
}
