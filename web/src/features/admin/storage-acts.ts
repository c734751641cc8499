import { api, ask, type Schemas } from "@/api/client";
import { bytes } from "@/lib/amounts";
import { adminPool } from "@/texts/admin-pool";
import type { ActSpec } from "./act";

const { storage: text } = adminPool;
const GIGABYTE = 1024 ** 3;

export function storageActs({ owner_id, own_limits, limit_bytes, limit_objects }: Schemas["OwnerUsage"]): ActSpec[] {
  const params = { path: { owner_id } };
  const own = (value: number | null) => (own_limits && value != null ? String(value) : "");
  return [
    {
      name: text.change,
      title: text.changeTitle,
      about: text.changeAbout,
      fields: [
        {
          name: "bytes",
          label: text.gigabytes,
          hint: text.gigabytesHint,
          kind: "number",
          optional: true,
          value: own(limit_bytes === null ? null : limit_bytes / GIGABYTE),
        },
        { name: "objects", label: text.objectsLimit, kind: "number", optional: true, value: own(limit_objects) },
      ],
      done: text.changed,
      run: ({ bytes, objects }) =>
        ask(
          api.PUT("/api/v1/admin/storage/{owner_id}", {
            params,
            body: {
              bytes: bytes ? Math.round(Number(bytes.replace(",", ".")) * GIGABYTE) : null,
              objects: objects ? Number(objects) : null,
            },
          }),
        ),
    },
    {
      name: text.recount,
      title: text.recountTitle,
      about: text.recountAbout,
      done: text.recounted,
      run: async () => {
        const found = await ask(api.POST("/api/v1/admin/storage/{owner_id}/reconcile", { params }));
        return text.recountTold(bytes(found.counted_bytes), bytes(found.bytes));
      },
    },
  ];
}
