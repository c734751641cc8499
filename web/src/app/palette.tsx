import { Autocomplete } from "@base-ui/react/autocomplete";
import { Dialog } from "@base-ui/react/dialog";
import { useQuery } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { api, ask } from "@/api/client";
import { useSignedIn } from "@/api/hooks";
import { signOut } from "@/api/session";
import { chooseTheme, isDark } from "@/lib/theme";
import { shell } from "@/texts/shell";
import { useNav } from "./nav";

type Entry = { id: string; name: string; note?: string; run: () => void };
type Group = { value: string; items: Entry[] };
const OFFERED = 50;

/** The newest jobs and nodes, to be found by name or id. */
function useNames(open: boolean) {
  const enabled = useSignedIn() && open;
  const jobs = useQuery({
    queryKey: ["jobs", "names"],
    queryFn: () => ask(api.GET("/api/v1/jobs", { params: { query: { limit: OFFERED } } })),
    enabled,
  });
  const nodes = useQuery({
    queryKey: ["nodes", "names"],
    queryFn: () => ask(api.GET("/api/v1/nodes", { params: { query: { limit: OFFERED } } })),
    enabled,
  });
  return { jobs: jobs.data?.items ?? [], nodes: nodes.data?.items ?? [] };
}

export default function Palette({ open, setOpen }: { open: boolean; setOpen: (open: boolean) => void }) {
  const go = useNavigate();
  const { all } = useNav();
  const signedIn = useSignedIn();
  const { jobs, nodes } = useNames(open);
  const text = shell.palette;
  const at = (to: string) => () => void go({ to });
  const groups: Group[] = [
    {
      value: text.pages,
      items: [
        { id: "/", name: shell.nav.home, run: at("/") },
        ...all.map(({ to, name }) => ({ id: to, name, run: at(to) })),
      ],
    },
    {
      value: text.jobs,
      items: jobs.map(({ id, name, state }) => ({
        id,
        name: name || id,
        note: `${state} · ${id}`,
        run: at(`/jobs/${id}`),
      })),
    },
    {
      value: text.nodes,
      items: nodes.map(({ id, name, state }) => ({ id, name, note: `${state} · ${id}`, run: at(`/nodes/${id}`) })),
    },
    {
      value: text.actions,
      items: [
        {
          id: "theme",
          name: `${shell.theme}: ${isDark() ? shell.themes.light : shell.themes.dark}`,
          run: () => chooseTheme(isDark() ? "light" : "dark"),
        },
        ...(signedIn
          ? [{ id: "sign-out", name: shell.signOut, run: () => void signOut() }]
          : [{ id: "sign-in", name: shell.signIn, run: at("/sign-in") }]),
      ],
    },
  ].filter((group) => group.items.length > 0);
  const choose = (entry: Entry) => {
    setOpen(false);
    entry.run();
  };
  return (
    <Dialog.Root open={open} onOpenChange={(next) => setOpen(next)}>
      <Dialog.Portal>
        <Dialog.Backdrop className="dialog-backdrop fixed inset-0 z-30 bg-backdrop" />
        <Dialog.Popup
          aria-label={text.label}
          className="dialog-popup fixed top-[15vh] left-1/2 z-30 w-[36rem] max-w-[calc(100vw-2rem)] -translate-x-1/2 rounded-lg border border-line bg-surface p-2 shadow-xl outline-none"
        >
          <Autocomplete.Root
            items={groups}
            open
            inline
            autoHighlight="always"
            itemToStringValue={(entry: Entry) => `${entry.name} ${entry.note ?? ""}`}
          >
            <Autocomplete.Input
              placeholder={text.placeholder}
              aria-label={text.label}
              className="h-10 w-full bg-transparent px-3 text-lg outline-none"
            />
            <Autocomplete.Empty className="px-3 py-2 text-muted empty:hidden">{text.nothing}</Autocomplete.Empty>
            <Autocomplete.List className="mt-1 max-h-[50vh] overflow-auto">
              {(group: Group) => (
                <Autocomplete.Group key={group.value} items={group.items} className="pb-1">
                  <Autocomplete.GroupLabel className="px-3 pt-2 pb-1 text-xs font-medium text-muted">
                    {group.value}
                  </Autocomplete.GroupLabel>
                  <Autocomplete.Collection>
                    {(entry: Entry) => (
                      <Autocomplete.Item
                        key={entry.id}
                        value={entry}
                        onClick={() => choose(entry)}
                        className="flex cursor-pointer items-baseline gap-3 rounded-md px-3 py-2 data-highlighted:bg-sunken"
                      >
                        <span className="max-w-2/3 shrink-0 truncate">{entry.name}</span>
                        {entry.note && <span className="ml-auto truncate text-sm text-muted">{entry.note}</span>}
                      </Autocomplete.Item>
                    )}
                  </Autocomplete.Collection>
                </Autocomplete.Group>
              )}
            </Autocomplete.List>
          </Autocomplete.Root>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  );
}
