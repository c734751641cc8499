import { useInfiniteQuery } from "@tanstack/react-query";
import { Download, Eye, FileArchive } from "lucide-react";
import type { Schemas } from "@/api/client";
import { outputsQuery } from "@/api/queries/jobs";
import { buttonClass } from "@/components/button";
import { Card } from "@/components/card";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { More } from "@/components/more";
import { SkeletonRows } from "@/components/skeleton";
import { type Column, Table } from "@/components/table";
import { Trouble } from "@/components/trouble";
import { bytes } from "@/lib/amounts";
import { jobTexts } from "@/texts/jobs";
import { Preview } from "./preview";

type Output = Schemas["OutputView"];
const text = jobTexts.outputs;
const keyOf = (file: Output) => `${file.slice}/${file.path}`;

/** The files that the job kept: a preview of what a browser can show, each to download, all as one zip. */
export function Outputs({ jobId, slices, removed }: { jobId: string; slices: number; removed: boolean }) {
  const query = useInfiniteQuery(outputsQuery(jobId));
  const [{ file: shown }, set] = useFilters<{ file?: string }>();
  const files = query.data?.pages.flatMap((page) => page.items) ?? [];
  const zip = query.data?.pages[0]?.zip_url;
  const chosen = files.find((file) => keyOf(file) === shown);
  const columns: (Column<Output> | false)[] = [
    {
      name: text.file,
      cell: (file) =>
        file.previewable ? (
          <button
            type="button"
            aria-expanded={file === chosen}
            onClick={() => set({ file: file === chosen ? undefined : keyOf(file) })}
            className="cursor-pointer text-left font-mono text-sm break-all hover:underline"
          >
            {file.path}
          </button>
        ) : (
          <span className="font-mono text-sm break-all">{file.path}</span>
        ),
    },
    slices > 1 && { name: text.slice, align: "right", cell: (file) => file.slice },
    { name: text.size, align: "right", className: "whitespace-nowrap", cell: (file) => bytes(file.size_bytes) },
    {
      name: text.downloads,
      bare: true,
      className: "w-px",
      cell: (file) => (
        <div className="-my-1 flex justify-end gap-1">
          {file.previewable && (
            <button
              type="button"
              aria-label={text.preview(file.path)}
              onClick={() => set({ file: file === chosen ? undefined : keyOf(file) })}
              className={buttonClass({ look: "quiet", size: "icon", className: "max-sm:hidden" })}
            >
              <Eye size={15} aria-hidden />
            </button>
          )}
          <a
            href={file.url}
            download
            aria-label={text.download(file.path)}
            className={buttonClass({ look: "quiet", size: "icon" })}
          >
            <Download size={15} aria-hidden />
          </a>
        </div>
      ),
    },
  ];
  return (
    <div className="flex flex-col gap-4">
      <Card
        title={text.title}
        flush
        aside={
          zip && (
            <a href={zip} download className={buttonClass({ size: "sm" })}>
              <FileArchive size={14} aria-hidden /> {text.zip}
            </a>
          )
        }
      >
        {!query.data && !query.error && <SkeletonRows rows={3} />}
        {!query.data && query.error && (
          <div className="p-4">
            <Trouble error={query.error} retry={() => void query.refetch()} />
          </div>
        )}
        {query.data && files.length === 0 && (
          <Empty title={removed ? text.removed : text.none} about={removed ? undefined : text.noneAbout} />
        )}
        {files.length > 0 && (
          <Table label={text.title} columns={columns.filter((column) => column !== false)} rows={files} keyOf={keyOf} />
        )}
        <More query={query} />
      </Card>
      {chosen && <Preview key={chosen.digest} file={chosen} />}
    </div>
  );
}
