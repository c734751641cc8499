import { afterEach, expect, test, vi } from "vitest";
import { patiently } from "./patiently";

afterEach(() => vi.unstubAllGlobals());

test("a part is asked for again once the hub answers, and only then", async () => {
  vi.useFakeTimers();
  const answers = [new TypeError("refused"), new Response("", { status: 503 }), new Response("ok")];
  const asked = vi.fn(async () => {
    const answer = answers.shift();
    if (answer instanceof Response) return answer;
    throw answer;
  });
  vi.stubGlobal("fetch", asked);
  const load = vi.fn<() => Promise<string>>().mockRejectedValueOnce(new TypeError("away")).mockResolvedValue("part");
  const part = patiently(load)();
  await vi.runAllTimersAsync();
  expect(await part).toBe("part");
  expect([asked.mock.calls.length, load.mock.calls.length]).toEqual([3, 2]);
  vi.useRealTimers();
});

test("a part that is gone although the hub answers is an error", async () => {
  vi.stubGlobal("fetch", async () => new Response("ok"));
  await expect(patiently(() => Promise.reject(new TypeError("gone")))()).rejects.toThrow("gone");
});
