import { Empty } from "@/components/empty";
import { Page } from "@/components/page";
import { shell } from "@/texts/shell";

export default function AccountPage() {
  return (
    <Page title={shell.nav.account}>
      <Empty title={shell.unfinished} />
    </Page>
  );
}
