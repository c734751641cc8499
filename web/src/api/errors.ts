import type { components } from "./schema";

type Detail = components["schemas"]["ErrorDetail"];

/** The hub refused, and says why and what to do. Match on `code`, never on the text. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly hint: string | null;
  readonly fields: { field: string; message: string; hint?: string | null }[];
  readonly retryAfterSeconds: number | null;

  constructor(status: number, detail: Partial<Detail>, retryAfterSeconds: number | null = null) {
    super(detail.message ?? `The hub answered ${status}.`);
    this.status = status;
    this.code = detail.code ?? "unknown";
    this.hint = detail.hint ?? null;
    this.fields = detail.fields ?? [];
    this.retryAfterSeconds = retryAfterSeconds;
  }
}

/** Nobody answered: the hub is away, or the network is. */
export class Unreachable extends Error {
  constructor() {
    super("The hub does not answer.");
  }
}

/** What was asked for needs somebody who is signed in. */
export class SignedOut extends Error {
  constructor() {
    super("You are signed out.");
  }
}

/** Of an answer that is not ok. A proxy that answers for an absent hub does not know our shape of errors. */
export async function errorOf(response: Response): Promise<Error> {
  const body: unknown = await response.json().catch(() => null);
  const detail = (body as { error?: Detail } | null)?.error;
  if (!detail && response.status >= 502) return new Unreachable();
  const after = Number(response.headers.get("Retry-After"));
  return new ApiError(response.status, detail ?? {}, Number.isFinite(after) && after > 0 ? after : null);
}

/** Whether asking again may help: not where the hub has decided. */
export const isPassing = (error: unknown): boolean =>
  error instanceof Unreachable || (error instanceof ApiError && error.status >= 500);
