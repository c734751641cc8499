// Confirm or refuse the code that `computepool login` shows.

import { showVersion, watchAccount } from "./account.js";
import { $, notice, put } from "./parts.js";
import { begin, call, hubNow, post, session, signedIn } from "./session.js";

const CODE_LETTERS = 8;

$("code").value = (new URLSearchParams(location.search).get("code") ?? "").slice(0, 20).toUpperCase();

// Who asks: shown before anybody approves it.
let looked = "";
async function look() {
  const typed = $("code").value.replace(/[\s-]/g, "");
  if (!signedIn() || typed.length !== CODE_LETTERS || typed === looked) return;
  looked = typed;
  try {
    const login = await post("auth/device/look", { user_code: typed });
    const minutes = Math.max(0, Math.round((hubNow() - Date.parse(login.created_at)) / 60_000));
    put($("facts"), `${login.user_agent || "A program without a name"} asked ${minutes ? `${minutes} min ago` : "just now"}`
      + ` from ${login.address}${login.same_address ? ", the address of this browser" : ", which is not the address of this browser"}.`);
  } catch (error) {
    put($("facts"), error.message);
  }
}
$("code").addEventListener("input", look);

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

const show = () => {
  $("device").hidden = !signedIn();
  look();
};
session.addEventListener("change", show);
showVersion().catch(() => {});
await begin().catch((error) => notice(error.message));
show();
await watchAccount().catch((error) => notice(error.message));
