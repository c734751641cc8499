// Confirm or refuse the code that `computepool login` shows.

import { showVersion, watchAccount } from "./account.js";
import { $, notice, put } from "./parts.js";
import { begin, call, session, signedIn } from "./session.js";

$("code").value = (new URLSearchParams(location.search).get("code") ?? "").slice(0, 20).toUpperCase();

async function decide(approve) {
  put($("problem"), "");
  try {
    await call("auth/device/approve", { method: "POST", body: { user_code: $("code").value, approve } });
  } catch (error) {
    put($("problem"), error.message);
    return;
  }
  $("code-form").hidden = true;
  history.replaceState(null, "", location.pathname);
  put($("outcome"), approve ? "Approved. Your terminal goes on by itself; you can close this page."
    : "Denied. The program that asked was told so.");
  $("outcome").focus();
}

$("code-form").addEventListener("submit", (event) => { event.preventDefault(); decide(true); });
$("deny").addEventListener("click", () => { if ($("code").reportValidity()) decide(false); });

const show = () => { $("device").hidden = !signedIn(); };
session.addEventListener("change", show);
showVersion().catch(() => {});
await begin().catch((error) => notice(error.message));
show();
await watchAccount().catch((error) => notice(error.message));
