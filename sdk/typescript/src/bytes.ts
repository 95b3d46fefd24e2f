// Node's buffers share memory with one another, and are printed and compared in ways of their own. Callers get plain bytes.

export function decoded(base64: string): Uint8Array {
  return new Uint8Array(Buffer.from(base64, "base64"));
}

export function joined(parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(Buffer.concat(parts));
}

/** As tools take contents. */
export function encoded(contents: string | Uint8Array): { text: string } | { base64: string } {
  return typeof contents === "string" ? { text: contents } : { base64: Buffer.from(contents).toString("base64") };
}
