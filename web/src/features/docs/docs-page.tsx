import { Empty } from "@/components/empty";
import { Page } from "@/components/page";
import { shell } from "@/texts/shell";

export default function DocsPage() {
  return (
    <Page title={shell.nav.docs}>
      <Empty title={shell.unfinished} />
    </Page>
  );
}
