import { Empty } from "@/components/empty";
import { Page } from "@/components/page";
import { shell } from "@/texts/shell";

export default function NodesPage() {
  return (
    <Page title={shell.nav.nodes}>
      <Empty title={shell.unfinished} />
    </Page>
  );
}
