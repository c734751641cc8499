// What an operator does about each kind of thing. Whether it may be done comes from the API, with its reason.
import { api, ask, type Schemas } from "@/api/client";
import type { Values } from "@/components/form";
import { admin } from "@/texts/admin";
import type { ActField, ActSpec } from "./act";

const { acts: text } = admin;
type View = Schemas["ActionView"] | undefined;
const note = (hint?: string, optional = true): ActField => ({
  name: "note",
  label: admin.note,
  kind: "long",
  optional,
  ...(hint ? { hint } : {}),
});
const noted = (values: Values) => (values.note ? { note: values.note } : {});

const ofCashOut = (cash_out_id: string) => ({ path: { cash_out_id } });
export const approve = (id: string, view: View): ActSpec => ({
  name: text.approve,
  view,
  look: "primary",
  title: text.approveTitle,
  about: text.approveAbout,
  fields: [note(admin.noteHint)],
  done: text.approveDone,
  run: async (values) => {
    const body = noted(values);
    return (await ask(api.POST("/api/v1/admin/cash-outs/{cash_out_id}/approve", { params: ofCashOut(id), body })))
      .message;
  },
});
export const reject = (id: string, view: View): ActSpec => ({
  name: text.reject,
  view,
  danger: true,
  title: text.rejectTitle,
  about: text.rejectAbout,
  fields: [note(admin.noteHint, false)],
  done: text.rejectDone,
  run: ({ note = "" }) =>
    ask(api.POST("/api/v1/admin/cash-outs/{cash_out_id}/reject", { params: ofCashOut(id), body: { note } })),
});
export const markPaid = (id: string, view: View): ActSpec => ({
  name: text.paid,
  view,
  look: "primary",
  title: text.paidTitle,
  about: text.paidAbout,
  fields: [{ name: "reference", label: text.reference, hint: text.referenceHint }, note(admin.noteHint)],
  done: text.paidDone,
  run: (values) =>
    ask(
      api.POST("/api/v1/admin/cash-outs/{cash_out_id}/paid", {
        params: ofCashOut(id),
        body: { reference: values.reference ?? "", ...noted(values) },
      }),
    ),
});
export const reverse = (id: string, view: View): ActSpec => ({
  name: text.reverse,
  view,
  danger: true,
  title: text.reverseTitle,
  about: text.reverseAbout,
  fields: [
    { name: "credits", label: admin.amount, hint: text.reverseAmountHint, kind: "number", optional: true },
    note(admin.noteHint, false),
  ],
  done: text.reverseDone,
  run: async ({ credits, note = "" }, key) => {
    const body = { note, credits: credits || null };
    const params = { ...ofCashOut(id), header: { "Idempotency-Key": key } };
    return (await ask(api.POST("/api/v1/admin/cash-outs/{cash_out_id}/reverse", { params, body }))).message;
  },
});

export const confirmAccusation = (accusation_id: string, view?: View): ActSpec => ({
  name: text.confirm,
  view,
  danger: true,
  title: text.confirmTitle,
  about: text.confirmAbout,
  fields: [note()],
  done: text.confirmDone,
  run: (values) =>
    ask(
      api.POST("/api/v1/admin/accusations/{accusation_id}/confirm", {
        params: { path: { accusation_id } },
        body: noted(values),
      }),
    ),
});
export const dismissAccusation = (accusation_id: string, view?: View): ActSpec => ({
  name: text.dismiss,
  view,
  title: text.dismissTitle,
  about: text.dismissAbout,
  fields: [note()],
  done: text.dismissDone,
  run: (values) =>
    ask(
      api.POST("/api/v1/admin/accusations/{accusation_id}/dismiss", {
        params: { path: { accusation_id } },
        body: noted(values),
      }),
    ),
});

const resolve = (event_id: number, resolution: Schemas["Resolution"], values: Values) =>
  ask(
    api.POST("/api/v1/admin/contests/{event_id}/resolve", {
      params: { path: { event_id } },
      body: { resolution, ...noted(values) },
    }),
  );
export const uphold = (id: number, view?: View): ActSpec => ({
  name: text.uphold,
  view,
  look: "primary",
  title: text.upholdTitle,
  about: text.upholdAbout,
  fields: [note(admin.noteHint)],
  done: text.upholdDone,
  run: (values) => resolve(id, "upheld", values),
});
export const refuseContest = (id: number, view?: View): ActSpec => ({
  name: text.refuse,
  view,
  danger: true,
  title: text.refuseTitle,
  about: text.refuseAbout,
  fields: [note(admin.noteHint)],
  done: text.refuseDone,
  run: (values) => resolve(id, "dismissed", values),
});

export const settle = (difference_id: number, view?: View): ActSpec => ({
  name: text.settle,
  view,
  title: text.settleTitle,
  about: text.settleAbout,
  done: text.settleDone,
  run: async () => {
    await ask(
      api.POST("/api/v1/admin/payments/differences/{difference_id}/settle", { params: { path: { difference_id } } }),
    );
  },
});
export const resend = (mail_id: string, view: View): ActSpec => ({
  name: text.resend,
  view,
  title: text.resendTitle,
  about: text.resendAbout,
  done: text.resendDone,
  run: () => ask(api.POST("/api/v1/admin/mails/{mail_id}/resend", { params: { path: { mail_id } } })),
});
export const checkLedger = (view?: View): ActSpec => ({
  name: text.check,
  view,
  title: text.checkTitle,
  about: text.checkAbout,
  done: text.checkDone,
  run: () => ask(api.POST("/api/v1/admin/ledger/check")),
});

/** What the queue offers for one of its items. */
export function actsOf({ kind, id, actions }: Schemas["QueueItem"]): ActSpec[] {
  const { approve: may, reject: mayReject, mark_paid, confirm, dismiss, uphold: mayUphold } = actions;
  switch (kind) {
    case "cash_out":
      return [approve(id, may), markPaid(id, mark_paid), reject(id, mayReject)];
    case "accusation":
      return [confirmAccusation(id, confirm), dismissAccusation(id, dismiss)];
    case "contest":
      return [uphold(Number(id), mayUphold), refuseContest(Number(id), dismiss)];
    case "payment_difference":
      return [settle(Number(id), actions.settle)];
    case "mail":
      return [resend(id, actions.resend)];
    case "ledger":
      return [checkLedger(actions.check)];
    default:
      return [];
  }
}
