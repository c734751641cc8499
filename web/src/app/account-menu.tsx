import { Link, useNavigate } from "@tanstack/react-router";
import { CircleUser } from "lucide-react";
import { useState } from "react";
import type { Schemas } from "@/api/client";
import { signOut } from "@/api/session";
import { Button } from "@/components/button";
import { Menu, MenuItem, MenuLine, MenuNote } from "@/components/menu";
import { chooseTheme, chosenTheme, type Theme } from "@/lib/theme";
import { shell } from "@/texts/shell";

export function AccountMenu({ me }: { me: Schemas["MeView"] | undefined }) {
  const go = useNavigate();
  const [theme, setTheme] = useState(chosenTheme);
  const choose = (next: Theme) => {
    chooseTheme(next);
    setTheme(next);
  };
  return (
    <Menu
      trigger={
        <Button look="quiet" aria-label={shell.accountOf(me?.name ?? "")} className="max-w-48 px-2">
          <CircleUser size={16} aria-hidden />
          <span className="truncate max-sm:hidden">{me?.name}</span>
        </Button>
      }
    >
      <MenuNote>{me?.email}</MenuNote>
      <MenuItem link={<Link to="/account" />}>{shell.account}</MenuItem>
      <MenuItem link={<Link to="/docs" />}>{shell.nav.docs}</MenuItem>
      <MenuLine />
      {(["system", "light", "dark"] as const).map((one) => (
        <MenuItem key={one} onClick={() => choose(one)}>
          <span className="w-4">{theme === one ? "✓" : ""}</span>
          {shell.themes[one]}
        </MenuItem>
      ))}
      <MenuLine />
      <MenuItem
        onClick={() => {
          void signOut().then(() => go({ to: "/" }));
        }}
      >
        {shell.signOut}
      </MenuItem>
    </Menu>
  );
}
