import { Empty } from "@/components/empty";
import { Page } from "@/components/page";
import { shell } from "@/texts/shell";

export default function WalletPage() {
  return (
    <Page title={shell.nav.wallet}>
      <Empty title={shell.unfinished} />
    </Page>
  );
}
