// What both pages share: the corner that says who is signed in, the form to sign in, and the hub's version.

import { $, h, notice, put } from "./parts.js";
import { get, send, session, signedIn, signIn, signOut } from "./session.js";

export async function showVersion() {
  const { version, fingerprint } = await (await send("version")).json();
  put($("version"), version);
  return fingerprint ? `${location.origin}#${fingerprint}` : location.origin; // what join and login need
}

export function watchAccount() {
  session.addEventListener("change", showAccount);
  return showAccount();
}

async function showAccount() {
  $("visitor").hidden = signedIn();
  if (!signedIn()) {
    $("account").replaceChildren();
    if (!$("visitor").firstChild) $("visitor").append(signInForm());
    return;
  }
  $("visitor").replaceChildren(); // and with it a typed password
  const me = await get("me");
  const button = h("button", { type: "button", class: "button small", click: leave }, "Sign out");
  $("account").replaceChildren(h("span", { class: "who", title: me.email }, me.name || me.email), button);
}

async function leave() {
  try {
    await signOut();
    notice("Signed out.");
  } catch (error) {
    notice(`Signed out here. The hub was not told: ${error.message}`);
  }
}

function signInForm() {
  const name = h("input", { id: "name", name: "name", autocomplete: "name", maxlength: "100" });
  const nameField = h("div", { class: "field", hidden: true }, h("label", { for: "name" }, "Name"), name);
  const email = h("input", { id: "email", name: "email", type: "email", autocomplete: "username", required: true });
  const password = h("input", {
    id: "password", name: "password", type: "password", autocomplete: "current-password", required: true,
  });
  const problem = h("p", { class: "problem", role: "alert" });
  const submit = h("button", { type: "submit", class: "button primary" }, "Sign in");
  const other = h("button", { type: "button", class: "button link", click: toggle }, "Create an account");
  const title = h("h2", { id: "sign-in-title" }, "Sign in");
  const isNew = () => !nameField.hidden;

  function toggle() {
    nameField.hidden = isNew();
    name.required = isNew();
    password.autocomplete = isNew() ? "new-password" : "current-password";
    put(title, isNew() ? "Create an account" : "Sign in");
    put(submit, isNew() ? "Create account" : "Sign in");
    put(other, isNew() ? "I have an account" : "Create an account");
    put(problem, "");
    (isNew() ? name : email).focus();
  }

  async function enter(event) {
    event.preventDefault();
    submit.disabled = true;
    put(problem, "");
    const body = { email: email.value, password: password.value };
    try {
      await (isNew() ? signIn("auth/register", { ...body, name: name.value }) : signIn("auth/login", body));
      $("main").focus();
    } catch (error) {
      put(problem, error.message);
      password.focus();
    } finally {
      submit.disabled = false;
    }
  }

  // method=post: should the script fail, a password must not end up in an address.
  return h("form", { method: "post", class: "card narrow form", "aria-labelledby": "sign-in-title", submit: enter },
    title,
    h("p", { class: "muted" }, "You started this hub yourself? Open the link that ", h("code", {}, "computepool up"),
      " or ", h("code", {}, "computepool hub admin"),
      " printed: it signs you in."),
    nameField,
    h("div", { class: "field" }, h("label", { for: "email" }, "Email"), email),
    h("div", { class: "field" }, h("label", { for: "password" }, "Password"), password),
    h("div", { class: "buttons" }, submit, other), problem);
}
