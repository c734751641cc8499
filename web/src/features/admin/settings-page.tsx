import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { settingsQuery } from "@/api/queries/admin";
import { Card } from "@/components/card";
import { useFilters } from "@/components/filters";
import { Loaded } from "@/components/loaded";
import { Prose } from "@/components/prose";
import { Tag } from "@/components/state";
import { When } from "@/components/when";
import { adminHub } from "@/texts/admin-hub";
import { inWords, Section, UrlSearch } from "./section";
import { shownValue } from "./setting-value";

const { settings: text } = adminHub;
type Setting = Schemas["SettingView"];

const Row = ({ setting }: { setting: Setting }) => (
  <li>
    <Link
      to="/admin/settings/$name"
      params={{ name: setting.name }}
      className="grid gap-x-4 gap-y-1 px-4 py-3 hover:bg-sunken/60 sm:grid-cols-[minmax(0,1fr)_auto] sm:items-center"
    >
      <span className="min-w-0">
        <code className="font-medium break-all">{setting.name}</code>
        <span className="block text-sm text-muted text-pretty">
          <Prose>{setting.description}</Prose>
        </span>
      </span>
      <span className="flex items-center gap-2 sm:justify-end">
        <span className="font-medium">{shownValue(setting.value, setting)}</span>
        <Tag tone={setting.source === "stored" ? "live" : undefined}>{text.sources[setting.source]}</Tag>
      </span>
    </Link>
  </li>
);

export default function SettingsPage() {
  const [filters] = useFilters<{ q?: string }>();
  const query = useQuery(settingsQuery);
  const wanted = (filters.q ?? "").toLowerCase();
  const matches = ({ name, description }: Setting) => `${name} ${description}`.toLowerCase().includes(wanted);
  return (
    <Section title={text.title} about={text.about}>
      <UrlSearch label={text.search} />
      <Loaded query={query}>
        {({ items, tables }) => {
          const found = items.filter(matches);
          const groups = [...new Set(found.map(({ group }) => group))];
          return (
            <>
              {found.length === 0 && <p className="text-muted">{text.nothing}</p>}
              {groups.map((group) => (
                <Card key={group} flush title={text.groups[group] ?? inWords(group)}>
                  <ul className="divide-y divide-line border-t border-line">
                    {found
                      .filter((setting) => setting.group === group)
                      .map((setting) => (
                        <Row key={setting.name} setting={setting} />
                      ))}
                  </ul>
                </Card>
              ))}
              {tables.length > 0 && !wanted && (
                <Card flush title={text.tables}>
                  <ul className="divide-y divide-line border-t border-line">
                    {tables.map(({ name, version, changed_at }) => (
                      <li key={name}>
                        <Link
                          to="/admin/settings/tables/$table"
                          params={{ table: name }}
                          className="flex flex-wrap items-center justify-between gap-x-4 px-4 py-3 hover:bg-sunken/60"
                        >
                          <span>
                            <span className="font-medium">{text.tableNames[name]}</span>
                            <span className="block text-sm text-muted">{text.tableAbout[name]}</span>
                          </span>
                          <span className="text-sm text-muted">
                            {text.version(version)} {changed_at && <When at={changed_at} ago />}
                          </span>
                        </Link>
                      </li>
                    ))}
                  </ul>
                </Card>
              )}
            </>
          );
        }}
      </Loaded>
    </Section>
  );
}
