import type { ReactNode } from "react";
import { Page } from "@/components/page";
import { TabLinks } from "@/components/tabs";
import { accounts } from "@/texts/accounts";

const TABS = [
  { to: "/account", name: accounts.parts.profile, exact: true },
  { to: "/account/notices", name: accounts.parts.notices },
  { to: "/account/sessions", name: accounts.parts.sessions },
  { to: "/account/tokens", name: accounts.parts.tokens },
];

/** The account's parts, each at its own address. */
export function AccountFrame({ children }: { children: ReactNode }) {
  return (
    <Page title={accounts.title} medium>
      <TabLinks label={accounts.title} tabs={TABS} />
      <div className="mt-6 flex flex-col gap-6">{children}</div>
    </Page>
  );
}
