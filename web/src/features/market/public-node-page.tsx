import { Empty } from "@/components/empty";
import { Page } from "@/components/page";
import { shell } from "@/texts/shell";

export default function PublicNodePage() {
  return (
    <Page title={shell.nav.market}>
      <Empty title={shell.unfinished} />
    </Page>
  );
}
