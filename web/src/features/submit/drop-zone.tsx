import { FileArchive, FolderUp, X } from "lucide-react";
import { useRef, useState } from "react";
import { Button } from "@/components/button";
import { toast } from "@/components/toasts";
import { bytes } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { submit as text } from "@/texts/submit";
import { type Bundle, chosen, dropped, sizeOf } from "./files";

const LISTED = 8;
const LEFT_LISTED = 4;

function Listed({ bundle }: { bundle: Bundle }) {
  const largest = bundle.files.toSorted((a, b) => b.file.size - a.file.size).slice(0, LISTED);
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
          {text.skipped(bundle.left.length)}{" "}
          <span className="font-mono break-words">{bundle.left.slice(0, LEFT_LISTED).join(", ")}</span>
          {bundle.left.length > LEFT_LISTED && ` ${text.more(bundle.left.length - LEFT_LISTED)}`}
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
  const take = async (bundle: Promise<Bundle | null>) => {
    setReading(true);
    try {
      const found = await bundle;
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
      onDrop={(event) => {
        event.preventDefault();
        setOver(false);
        void take(dropped(event.dataTransfer));
      }}
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
          // A copy: the list is emptied with the field.
          if (target.files?.length) void take(chosen([...target.files]));
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
          // A copy: the list is emptied with the field.
          if (target.files?.length) void take(chosen([...target.files]));
          target.value = "";
        }}
      />
    </section>
  );
}
