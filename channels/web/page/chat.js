// The chat page: one conversation at a time, named in the address after #.

import { chatURL, limits, newID, post, Refused, Stream } from "./api.js";
import { Chats } from "./chats.js";
import { Composer } from "./compose.js";
import { Outbox } from "./outbox.js";
import { root, stored } from "./login.js";
import { el, fill, forget, message, pending } from "./view.js";
import { lang, t, translate } from "./strings.js";

const $ = (id) => document.getElementById(id);
const validID = /^[A-Za-z0-9_-]{1,64}$/;
const lastKey = stored("chat");
const draftGrace = 4000; // ms a draft stays after its turn until the message itself is there
const busyFor = 20_000; // ms that one sign of work is shown

let chat, stream, outbox;
let most = { text: 256 << 10, file: 20 << 20, files: 10 };
let shown = new Map(); // id → list item
let ended = ""; // the turn whose message is shown already
let idle, draftEnd, lastNotice;

// Scrolling: the page follows the newest message unless somebody scrolled up.

const scroll = $("scroll");
const atBottom = () => scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
let follow = true;
let lastTop = 0;

// Only a person scrolls up; that new messages moved the end away is no reason
// to stop following it.
scroll.addEventListener("scroll", () => {
  const up = scroll.scrollTop < lastTop;
  lastTop = scroll.scrollTop;
  if (atBottom()) follow = true;
  else if (up) follow = false;
  $("bottom").hidden = follow;
});
$("bottom").addEventListener("click", () => toBottom());
new ResizeObserver(() => follow && toBottom()).observe(scroll.firstElementChild);
new ResizeObserver(() => follow && toBottom()).observe(scroll);

function toBottom() {
  follow = true;
  scroll.scrollTop = scroll.scrollHeight;
  lastTop = scroll.scrollTop; // a person may scroll up before the event of this tells
}

// Messages.

function show(m) {
  outbox.arrived(m.id);
  if (m.final && m.turn) {
    ended = m.turn;
    clearDraft();
  }
  const item = message(m, press);
  const old = shown.get(m.id);
  shown.set(m.id, item);
  $("empty").hidden = true;
  if (old) return old.replaceWith(item);
  const list = $("messages");
  let before = null;
  for (let e = list.lastElementChild; e && Number(e.dataset.pos) > m.pos; e = e.previousElementSibling) before = e;
  list.insertBefore(item, before);
  if (m.role === "person" && shown.size > 1) toBottom();
}

function remove(id) {
  shown.get(id)?.remove();
  shown.delete(id);
}

async function press(m, button, target) {
  const row = target.closest(".buttons");
  row.classList.add("pressed");
  target.classList.add("chosen");
  const id = newID();
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    try {
      await post(chatURL(chat, "/press"), { id, message: m.id, data: button.data, lang });
      break;
    } catch (err) {
      if (err instanceof Refused) {
        composer.problem(t("gone"));
        break;
      }
      await new Promise((done) => setTimeout(done, wait));
    }
  }
  setTimeout(() => {
    row.classList.remove("pressed");
    target.classList.remove("chosen");
  }, 3000);
}

// What goes on now.

function clearDraft() {
  clearTimeout(draftEnd);
  $("draft").replaceChildren();
  $("draft").dataset.turn = "";
  hideIdle();
}

function hideIdle() {
  const busy = $("live").classList.contains("busy");
  $("live").hidden = !busy && !$("draft").childNodes.length;
  $("stop").hidden = !busy;
}

function setBusy(yes) {
  clearTimeout(idle);
  $("live").classList.toggle("busy", yes);
  if (yes) idle = setTimeout(() => setBusy(false), busyFor);
  hideIdle();
}

function live(s) {
  const notice = s.notice ? s.notice.press + s.notice.text : "";
  // What the first event holds was shown before this page was opened.
  if (lastNotice !== null && notice && notice !== lastNotice) composer.note(s.notice.text);
  lastNotice = notice;
  if (s.turn && s.turn === ended && s.busy) return;
  if (s.html) {
    clearTimeout(draftEnd);
    fill($("draft"), s.html);
    $("draft").dataset.turn = s.turn ?? "";
  } else if (!s.busy && $("draft").childNodes.length) {
    clearTimeout(draftEnd);
    draftEnd = setTimeout(clearDraft, draftGrace);
  }
  $("doing").textContent = s.line || (s.tool ? t(s.tool.state, { name: s.tool.name }) : t("working"));
  if (s.busy) $("empty").hidden = true;
  setBusy(s.busy);
}

// Connection.

function state(up) {
  $("state").className = "state " + (up ? "up" : "down");
  $("state").title = $("state").textContent = up ? t("online") : t("offline");
  $("banner").hidden = up;
  $("banner").textContent = up ? "" : t("lost");
  if (up) outbox.retry();
  else setBusy(false);
}

function clearMessages() {
  shown = new Map();
  $("messages").replaceChildren();
  clearDraft();
}

// sync ends what was stored; ids, after a resume, is everything there is.
function sync({ ids }) {
  if (ids) {
    const there = new Set(ids);
    for (const id of [...shown.keys()]) if (!there.has(id)) remove(id);
  }
  $("empty").hidden = shown.size > 0 || outbox.items.length > 0;
  limits().then((l) => (most = l), () => {});
}

function openChat() {
  const id = location.hash.slice(1);
  if (!validID.test(id)) {
    let last = "main";
    try {
      last = localStorage.getItem(lastKey) ?? last;
    } catch {
      // No storage: every visit starts in the main conversation.
    }
    return location.replace("#" + (validID.test(last) ? last : "main"));
  }
  if (id === chat) return;
  chat = id;
  try {
    localStorage.setItem(lastKey, id);
  } catch {
    // See above.
  }
  stream?.close();
  outbox?.close();
  clearMessages();
  forget();
  setBusy(false);
  ended = "";
  lastNotice = null;
  $("empty").hidden = true;
  $("state").textContent = t("connecting");
  outbox = new Outbox(chat, navigator.language, (box) => {
    const waiting = box.items.filter((i) => !shown.has("i" + i.id));
    $("pending").replaceChildren(...waiting.map((i) => pending(i, box)));
    if (waiting.length) $("empty").hidden = true;
  });
  stream = new Stream(chat, {
    message: (m) => {
      show(m);
      chats.shown(m.at);
    },
    gone: (g) => remove(g.id), reset: clearMessages,
    live, state, sync, chat: (c) => chats.update(c),
  });
  chats.draw();
  composer.focus();
  toBottom();
}

// Start.

// Shown under a path without its slash, what the page names would be looked for
// beside it.
if (location.pathname + "/" === root) history.replaceState(null, "", root + location.search + location.hash);
translate();
const chats = new Chats(() => chat, () => (location.hash = newID()));
const send = (item) => {
  outbox.add(item);
  toBottom();
};
const composer = new Composer({ chat: () => chat, limits: () => most, send });
$("new").addEventListener("click", () => (location.hash = newID()));
$("stop").addEventListener("click", () => send({ id: newID(), text: "/stop", files: [] }));
$("ideas").append(...t("ideas").map((text) =>
  el("button", { type: "button", class: "choice", onclick: () => send({ id: newID(), text, files: [] }) }, text)));
document.addEventListener("visibilitychange", () => chat && chats.draw());
addEventListener("online", () => stream?.open());
addEventListener("hashchange", openChat);
openChat();
