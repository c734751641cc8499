import { FileArchive, FolderUp, X } from "lucide-react";
import { type DragEvent, useRef, useState } from "react";
import { Button } from "@/components/button";
import { toast } from "@/components/toasts";
import { bytes } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { submit as text } from "@/texts/submit";
import { type Bundle, chosen, dropped, sizeOf } from "./files";

const LISTED = 8;

function Listed({ bundle }: { bundle: Bundle }) {
  const largest = bundle.files.toSorted((a, b) => b.file.size - a.file.size).slice(0, LISTED);
  const names = [...new Set(bundle.left.map(({ path }) => path.split("/").slice(0, 2).join("/")))];
  return (
    <>
      <ul className="mt-3 divide-y divide-line border-y border-line text-sm">
        {largest.map(({ path, file }) => (
          <li key={path} className="flex justify-between gap-4 py-1">
            <span className="truncate font-mono">{path}</span>
            <span className="shrink-0 text-muted">{bytes(file.size)}</span>
          </li>
        ))}
        {bundle.files.length > LISTED && <li className="py-1 text-muted">{text.more(bundle.files.length - LISTED)}</li>}
      </ul>
      {bundle.left.length > 0 && (
        <p className="mt-2 text-sm text-muted">
          {text.skipped(bundle.left.length, sizeOf(bundle.left))}{" "}
          <span className="font-mono">{names.slice(0, 4).join(", ")}</span>
          {names.length > 4 && ` ${text.more(names.length - 4)}`}
        </p>
      )}
    </>
  );
}

/** Takes a folder, files or an archive. `kept`: the size of the archive of the job that this one is a copy of. */
export function DropZone({
  bundle,
  kept,
  onChange,
}: {
  bundle: Bundle | null;
  kept: number | null;
  onChange: (bundle: Bundle | null) => void;
}) {
  const [over, setOver] = useState(false);
  const [reading, setReading] = useState(false);
  const folder = useRef<HTMLInputElement>(null);
  const files = useRef<HTMLInputElement>(null);
  const drop = async (event: DragEvent) => {
    event.preventDefault();
    setOver(false);
    setReading(true);
    try {
      const found = await dropped(event.dataTransfer);
      if (found) onChange(found);
    } catch (error) {
      toast({ title: error instanceof Error ? error.message : String(error), tone: "bad" });
    } finally {
      setReading(false);
    }
  };
  const has = bundle !== null || kept !== null;
  return (
    <section
      aria-label={text.sources.files}
      onDragOver={(event) => {
        event.preventDefault();
        setOver(true);
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => void drop(event)}
      className={cn(
        "rounded-lg border border-dashed border-edge bg-page p-4",
        over && "border-live bg-live-soft",
        !has && "py-8 text-center",
      )}
    >
      {has ? (
        <>
          <div className="flex items-center gap-2">
            <FileArchive size={16} aria-hidden className="shrink-0 text-muted" />
            <p className="min-w-0 flex-1 truncate font-medium" role="status">
              {bundle === null
                ? text.kept(kept ?? 0)
                : bundle.archive
                  ? text.archive(bundle.archive.name, bundle.archive.size)
                  : text.files(bundle.files.length, sizeOf(bundle.files))}
            </p>
            <Button size="icon" look="quiet" aria-label={text.remove} onClick={() => onChange(null)}>
              <X size={16} aria-hidden />
            </Button>
          </div>
          {bundle && !bundle.archive && <Listed bundle={bundle} />}
        </>
      ) : (
        <>
          <FolderUp size={24} aria-hidden className="mx-auto text-muted" />
          <p className="mt-2 font-medium">{reading ? text.reading : text.drop}</p>
          <p className="mt-1 text-sm text-muted text-pretty">{text.dropAbout}</p>
        </>
      )}
      <div className={cn("mt-4 flex flex-wrap gap-2", !has && "justify-center")}>
        <Button size="sm" onClick={() => folder.current?.click()}>
          {text.chooseFolder}
        </Button>
        <Button size="sm" onClick={() => files.current?.click()}>
          {text.chooseFiles}
        </Button>
      </div>
      <input
        ref={folder}
        type="file"
        hidden
        aria-label={text.chooseFolder}
        {...{ webkitdirectory: "" }}
        onChange={({ target }) => {
          if (target.files) onChange(chosen(target.files));
          target.value = "";
        }}
      />
      <input
        ref={files}
        type="file"
        hidden
        multiple
        aria-label={text.chooseFiles}
        onChange={({ target }) => {
          if (target.files) onChange(chosen(target.files));
          target.value = "";
        }}
      />
    </section>
  );
}
