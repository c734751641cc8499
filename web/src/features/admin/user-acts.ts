import { api, ask, type Schemas } from "@/api/client";
import { parseCredits } from "@/lib/money";
import { admin } from "@/texts/admin";
import { adminPool } from "@/texts/admin-pool";
import type { ActField, ActSpec } from "./act";

const { user: text, users } = adminPool;
type User = Schemas["UserView"];

export function accountActs({ id: user, role, disabled_at, actions }: User): ActSpec[] {
  const params = { path: { user } };
  const acts: ActSpec[] = [
    {
      name: text.role,
      view: actions.change_role,
      title: text.roleTitle,
      about: text.roleAbout,
      fields: [
        {
          name: "role",
          label: text.role,
          kind: "choice",
          options: Object.entries(users.roles),
          value: role === "admin" ? "user" : "admin",
        },
      ],
      done: text.roleChanged,
      run: ({ role }) =>
        ask(api.PUT("/api/v1/admin/users/{user}/role", { params, body: { role: role as Schemas["Role"] } })),
    },
    {
      name: text.enable,
      view: actions.enable,
      title: text.enableTitle,
      about: text.enableAbout,
      done: text.enabled,
      run: () => ask(api.POST("/api/v1/admin/users/{user}/enable", { params })),
    },
    {
      name: text.disable,
      view: actions.disable,
      danger: true,
      title: text.disableTitle,
      about: text.disableAbout,
      fields: [
        { name: "reason", label: admin.reason, hint: text.disableReason },
        {
          name: "jobs",
          label: text.theirJobs,
          kind: "choice",
          options: [
            ["keep", text.keepJobs],
            ["cancel", text.cancelJobs],
          ],
          value: "keep",
        },
      ],
      done: text.disabled,
      run: async ({ reason = "", jobs }) => {
        const body = { reason, cancel_jobs: jobs === "cancel" };
        return (await ask(api.POST("/api/v1/admin/users/{user}/disable", { params, body }))).message;
      },
    },
  ];
  // An account is either open or not: only the one that would change it is shown.
  return acts.filter(({ name }) => name !== (disabled_at ? text.disable : text.enable));
}

export function balanceActs({ id: user, debt_micros }: User): ActSpec[] {
  const amount: ActField = { name: "credits", label: admin.amount, kind: "number" };
  const note: ActField = { name: "note", label: admin.note, hint: text.noteHint };
  const once = (key: string) => ({ params: { header: { "Idempotency-Key": key } } });
  return [
    {
      name: text.grant,
      title: text.grantTitle,
      about: text.grantAbout,
      fields: [
        amount,
        {
          name: "kind",
          label: text.promotional,
          kind: "choice",
          options: [
            ["promotional", text.promo],
            ["money", text.paidFor],
          ],
          value: "promotional",
        },
        note,
      ],
      done: text.granted,
      run: ({ credits = "", note = "", kind }, key) =>
        ask(
          api.POST("/api/v1/admin/grants", {
            ...once(key),
            body: { user, credits, note, promotional: kind === "promotional" },
          }),
        ),
    },
    {
      name: text.withdraw,
      danger: true,
      title: text.withdrawTitle,
      about: text.withdrawAbout,
      fields: [amount, note],
      done: text.withdrawn,
      run: ({ credits = "", note = "" }, key) =>
        ask(api.POST("/api/v1/admin/withdrawals", { ...once(key), body: { user, credits, note } })),
    },
    ...(debt_micros
      ? [
          {
            name: text.writeOff,
            danger: true,
            title: text.writeOffTitle,
            about: text.writeOffAbout,
            fields: [{ ...amount, optional: true }, note],
            done: text.wroteOff,
            run: ({ credits = "", note = "" }: Record<string, string>, key: string) =>
              ask(
                api.POST("/api/v1/admin/ledger/write-offs", {
                  ...once(key),
                  body: { user, credits: credits || null, note },
                }),
              ),
          },
        ]
      : []),
  ];
}

const MONEY_LIMITS = ["hourly", "daily", "monthly"] as const;
/** Micros as an amount that can be typed. */
function typed(micros: number | null): string {
  if (micros == null) return "";
  const digits = String(micros).padStart(7, "0");
  return `${digits.slice(0, -6)}.${digits.slice(-6)}`.replace(/\.?0+$/, "");
}
function micros(text: string | undefined, message: string): number | null {
  if (!text?.trim()) return null;
  const parsed = parseCredits(text);
  if (parsed === null) throw new Error(message);
  return Number(parsed);
}

export const limitsAct = (owner_id: string, limits: Schemas["LimitsView"], money: boolean): ActSpec => ({
  name: text.changeLimits,
  title: text.limitsTitle,
  about: text.limitsAbout,
  fields: [
    { name: "slices", label: text.slices, kind: "number", optional: true, value: String(limits.slices ?? "") },
    ...(money
      ? MONEY_LIMITS.map(
          (name): ActField => ({
            name: `${name}_micros`,
            label: text[name],
            kind: "number",
            optional: true,
            value: typed(limits[`${name}_micros`]),
          }),
        )
      : []),
  ],
  done: text.limitsDone,
  run: (values) => {
    const body: Schemas["LimitsChange"] = { slices: values.slices ? Number(values.slices) : null };
    for (const name of MONEY_LIMITS) body[`${name}_micros`] = micros(values[`${name}_micros`], text.limitsBad);
    return ask(api.PUT("/api/v1/admin/limits/{owner_id}", { params: { path: { owner_id } }, body }));
  },
});
