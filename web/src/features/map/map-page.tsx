import { Empty } from "@/components/empty";
import { Page } from "@/components/page";
import { shell } from "@/texts/shell";

export default function MapPage() {
  return (
    <Page title={shell.nav.map}>
      <Empty title={shell.unfinished} />
    </Page>
  );
}
