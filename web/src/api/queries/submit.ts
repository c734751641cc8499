import { queryOptions } from "@tanstack/react-query";
import { api, ask, type Schemas } from "../client";
import { errorOf, Unreachable } from "../errors";
import { freshToken } from "../session";

/** As the app writes it: `secrets` as a list only. */
export type Written = Omit<Schemas["WrittenSpec"], "secrets"> & { secrets?: string[] };

const asText = { headers: { "Content-Type": "application/yaml" }, bodySerializer: (text: unknown) => text as string };

/** What the API makes of a spec: an object, or YAML as text. */
export const checkQuery = (spec: Written | string) =>
  queryOptions({
    queryKey: ["check", spec],
    queryFn: () =>
      typeof spec === "string"
        ? ask(api.POST("/api/v1/jobs/check", { body: spec as never, ...asText }))
        : ask(api.POST("/api/v1/jobs/check", { body: spec })),
    gcTime: 60_000,
  });
/** Stale when the pool changes; a page that shows one says so by `useLive("public")`. */
export const quoteQuery = (spec: Written) =>
  queryOptions({
    queryKey: ["quote", spec],
    queryFn: () => ask(api.POST("/api/v1/market/quote", { body: spec })),
    gcTime: 60_000,
  });
export const cloneQuery = (jobId: string) =>
  queryOptions({
    queryKey: ["job", jobId, "clone"],
    queryFn: () => ask(api.GET("/api/v1/jobs/{job_id}/clone", { params: { path: { job_id: jobId } } })),
  });

type Submission = { spec: Written; bundle?: Blob | null; bundleId?: string | null; key: string };
/** `progress` hears which part of the archive was sent. */
export async function submitJob(
  { spec, bundle, bundleId, key }: Submission,
  progress: (part: number) => void,
): Promise<Schemas["JobView"]> {
  if (!bundle) {
    const params = { query: bundleId ? { bundle: bundleId } : {}, header: { "Idempotency-Key": key } };
    return ask(api.POST("/api/v1/jobs", { params, body: spec }));
  }
  const form = new FormData();
  form.set("spec", JSON.stringify(spec));
  form.set("bundle", bundle, "bundle");
  const token = await freshToken();
  // fetch does not tell how much was sent.
  const request = new XMLHttpRequest();
  request.open("POST", "/api/v1/jobs");
  request.setRequestHeader("Authorization", `Bearer ${token}`);
  request.setRequestHeader("Idempotency-Key", key);
  request.upload.onprogress = ({ loaded, total }) => progress(total ? loaded / total : 0);
  await new Promise<void>((resolve, reject) => {
    request.onload = () => resolve();
    request.onerror = () => reject(new Unreachable());
    request.send(form);
  });
  if (request.status >= 300) throw await errorOf(new Response(request.responseText, { status: request.status }));
  return JSON.parse(request.responseText) as Schemas["JobView"];
}
