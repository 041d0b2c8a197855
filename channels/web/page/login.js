// The login. Browsers send the cookie of a login to every port of this machine;
// what a page stores stays with its origin. So each request carries a key as
// well, which the server gives to this page only.

import { t } from "./strings.js";

// root is the path of the page, below which everything else is found. A proxy
// may show the console under a path of its own, which no other place knows.
export const root = new URL("../", import.meta.url).pathname;

// stored names what is kept in the browser: other bots may live on the same
// origin, under other paths.
export const stored = (name) => `magpie${root === "/" ? "" : root}.${name}`;

const slot = stored("key");
let memory = ""; // where the browser stores nothing

function key() {
  try {
    return localStorage.getItem(slot) ?? memory;
  } catch {
    return memory;
  }
}

function keep(value) {
  memory = value;
  try {
    localStorage.removeItem(slot); // what does not fit shall not leave an old one
    localStorage.setItem(slot, value);
  } catch {
    // The login then lasts as long as the page.
  }
}

const send = (url, init, value) =>
  fetch(url, { ...init, credentials: "same-origin", headers: { ...init.headers, "X-Magpie-Key": value } });

// A login by link or form leads here with the key behind the #. Any page may
// lead here with something else there, so it is tried first.
const came = /^#in=([\w-]+)$/.exec(location.hash)?.[1];
if (came) {
  history.replaceState(null, "", location.pathname + location.search);
  const res = await send(root + "api/chat/chats", {}, came).catch(() => null);
  if (res?.status !== 401) keep(came);
}

// call is fetch with both halves of the login. Where they do not do it asks for
// the token and goes on from there, so that nothing is lost.
export async function call(url, init = {}) {
  for (;;) {
    const used = key();
    const res = used && (await send(url, init, used));
    if (res && res.status !== 401) return res;
    if (used === key()) await ask();
    init.signal?.throwIfAborted();
  }
}

let asking; // what is waited for by all that met a closed door

// ask shows the form until there is another key, from it or from another tab.
function ask() {
  return (asking ??= new Promise((done) => {
    const form = document.getElementById("login");
    const field = document.getElementById("token");
    const problem = form.querySelector("[role=alert]");
    const old = key();
    const on = new AbortController();
    const settle = () => {
      on.abort();
      asking = null;
      field.value = problem.textContent = "";
      form.close();
      done();
    };
    const listen = (target, kind, take) => target.addEventListener(kind, take, { signal: on.signal });
    listen(window, "storage", () => key() && key() !== old && settle());
    listen(form, "cancel", (e) => e.preventDefault());
    listen(form, "submit", async (e) => {
      e.preventDefault();
      problem.textContent = "";
      try {
        const body = new URLSearchParams({ token: field.value });
        const res = await fetch(root + "login", { method: "POST", headers: { Accept: "application/json" }, body });
        if (res.ok) {
          keep((await res.json()).key);
          settle();
        } else problem.textContent = t({ 403: "loginWrong", 429: "loginOften" }[res.status] ?? "proxyRefuses", { status: res.status });
      } catch {
        problem.textContent = t("offline");
      }
    });
    form.showModal();
  }));
}
