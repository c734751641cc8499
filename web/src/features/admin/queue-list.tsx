import { Link, type LinkProps } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { Money } from "@/components/money";
import { Tag } from "@/components/state";
import { When } from "@/components/when";
import { admin } from "@/texts/admin";
import { Acts } from "./act";
import { actsOf } from "./acts";
import { inWords, Person } from "./section";

type Item = Schemas["QueueItem"];
const { queue: text } = admin;

/** Where all that is known of an item is shown. */
function placeOf({ kind, id }: Item): Pick<LinkProps, "to" | "params" | "search"> {
  switch (kind) {
    case "dispute":
      return { to: "/admin/disputes/$disputeId", params: { disputeId: id } };
    case "cash_out":
      return { to: "/admin/cash-outs" };
    case "accusation":
      return { to: "/admin/checks", search: { tab: "accusations", state: "open" } };
    case "contest":
      return { to: "/admin/checks", search: { tab: "contests" } };
    case "payment_difference":
      return { to: "/admin/payments", search: { tab: "differences" } };
    case "mail":
      return { to: "/admin/mails", search: { state: "given_up" } };
    case "country":
      return { to: "/admin/settings/tables/$table", params: { table: "regions" } };
    default:
      return { to: "/admin/ledger" };
  }
}

export const QueueList = ({ items }: { items: Item[] }) => (
  <ul className="divide-y divide-line">
    {items.map((item) => (
      <li
        key={`${item.kind} ${item.id}`}
        className="grid gap-x-4 gap-y-2 px-4 py-3 sm:grid-cols-[minmax(0,1fr)_auto] sm:items-center"
      >
        <div className="min-w-0">
          <div className="flex flex-wrap items-center gap-x-2 gap-y-1">
            <Tag tone={item.kind === "ledger" ? "bad" : "warn"}>{text.kinds[item.kind] ?? inWords(item.kind)}</Tag>
            <Link {...placeOf(item)} className="font-medium break-words hover:underline">
              {item.title}
            </Link>
          </div>
          {item.detail && <p className="mt-1 line-clamp-2 text-muted break-words">{item.detail}</p>}
          <p className="mt-1 flex flex-wrap gap-x-3 text-sm text-muted">
            {item.since && <When at={item.since} ago />}
            {item.owner_id && <Person id={item.owner_id} name={item.owner_email} />}
            {item.amount_micros != null && <Money micros={item.amount_micros} className="text-text" />}
          </p>
        </div>
        <div className="flex flex-wrap items-center gap-2">
          <Acts acts={actsOf(item)} />
          {item.kind === "dispute" || item.kind === "country" ? (
            <Link
              {...placeOf(item)}
              aria-label={text.openItem(item.title)}
              className="inline-flex h-7 items-center rounded-md border border-line bg-surface px-2.5 text-sm font-medium hover:bg-sunken"
            >
              {text.open}
            </Link>
          ) : null}
        </div>
      </li>
    ))}
  </ul>
);
