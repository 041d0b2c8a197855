// The page of `bot simulate`: one chat at a time, as it is at the moment.

import { switchLanguage, t, translate } from "./strings.js";

const $ = (id) => document.getElementById(id);
const here = { platform: "", place: "private" };
let world = { platforms: [], troubles: [] };
let stream = null;
let attached = null;
let state = { connected: false, typing: false };

/** Makes an element. */
function make(tag, properties = {}, ...children) {
  const e = Object.assign(document.createElement(tag), properties);
  e.append(...children);
  return e;
}

function button(text, onclick) {
  return make("button", { type: "button", textContent: text, onclick });
}

const path = (rest) => `api/${here.platform}/${here.place}/${rest}`;

/** Asks the simulation for something and shows what was wrong. */
async function ask(rest, body) {
  say("");
  try {
    const answer = await fetch(path(rest), { method: "POST", body });
    if (!answer.ok) say(await answer.text());
    return answer.ok;
  } catch {
    say(t("gap"));
    return false;
  }
}

function say(problem, quiet = false) {
  $("problem").textContent = problem;
  $("problem").className = quiet ? "quiet" : "";
  $("problem").hidden = !problem;
}

/** Shows everything that depends on the language or the chat. */
function draw() {
  translate();
  $("platforms").replaceChildren(...world.platforms.map((name) => {
    const b = button(t(name), () => go(name, here.place));
    if (name === here.platform) b.setAttribute("aria-current", "page");
    b.dataset.platform = name;
    return b;
  }));
  $("places").replaceChildren(...["private", "group"].map((place) => {
    const b = button(t(place), () => go(here.platform, place));
    b.setAttribute("aria-pressed", String(place === here.place));
    b.dataset.place = place;
    return b;
  }));
  $("cuts").replaceChildren(...[0, 10].map((seconds) => {
    const b = button(seconds ? t("cutFor", { seconds }) : t("cut"), () => meet(`cut?seconds=${seconds}`));
    b.dataset.cut = seconds;
    return b;
  }));
  $("faults").replaceChildren(...world.troubles.map((trouble) => {
    const b = button(t(trouble), async () => { if (await meet(`faults/${trouble}`)) say(t("arranged"), true); });
    b.dataset.fault = trouble;
    return b;
  }));
  $("ideas").replaceChildren(...t("ideaList").map((idea) => make("li", {}, button(idea, () => { $("text").value = idea; $("text").focus(); }))));
  $("hint").textContent = t(here.place === "group" ? "hintGroup" : "hintPrivate", { platform: t(here.platform) });
  drawState();
  drawAttached();
}

function meet(what) {
  $("trouble").open = false;
  return ask(what);
}

function drawState() {
  $("state").textContent = t(state.connected ? "up" : "down");
  $("state").className = state.connected ? "up" : "";
  $("typing").hidden = !state.typing;
}

function drawAttached() {
  $("attached").hidden = !attached;
  $("attached").replaceChildren(...(attached ? [make("li", {}, Object.assign(button(`${attached.name} ✕`, () => attach(null)), { title: t("remove", { name: attached.name }) }))] : []));
}

function attach(file) {
  attached = file;
  $("picker").value = "";
  drawAttached();
}

/** Goes to a chat and follows it. */
function go(platform, place) {
  Object.assign(here, { platform, place });
  history.replaceState(null, "", `#${platform}/${place}`);
  $("messages").replaceChildren();
  say("");
  draw();
  stream?.close();
  stream = new EventSource(path("events"));
  stream.addEventListener("open", () => { $("messages").replaceChildren(); if ($("problem").textContent === t("gap")) say(""); });
  stream.addEventListener("error", () => say(t("gap")));
  stream.addEventListener("state", (e) => { state = JSON.parse(e.data); drawState(); });
  stream.addEventListener("entries", (e) => show(JSON.parse(e.data)));
}

function show(entries) {
  const list = $("messages");
  const scroll = $("scroll");
  const atEnd = scroll.scrollHeight - scroll.scrollTop - scroll.clientHeight < 80;
  for (const entry of entries) {
    const old = list.querySelector(`[data-key="${entry.key}"]`);
    const fresh = drawEntry(entry);
    if (old) old.replaceWith(fresh);
    else list.append(fresh);
  }
  if (atEnd) scroll.scrollTop = scroll.scrollHeight;
}

function drawEntry(entry) {
  const li = make("li", { className: entry.who + (entry.gone ? " gone" : "") });
  li.dataset.key = entry.key;
  const empty = entry.who === "bot" && !entry.text && !entry.files.length;
  li.append(make("div", { className: "text", dir: "auto", textContent: empty ? "…" : entry.text }));
  if (entry.files.length) li.append(drawFiles(entry));
  if (entry.buttons?.length && !entry.gone) li.append(drawButtons(entry));
  const marks = [...(entry.reactions ?? [])];
  if (entry.edits) marks.push(t("edited", { n: entry.edits }));
  if (entry.gone) marks.push(t("gone"));
  li.append(make("div", { className: "marks", textContent: marks.join(" · ") }));
  return li;
}

function drawFiles(entry) {
  return make("div", { className: "files" }, ...entry.files.map((file, n) => {
    const at = path(`files/${entry.key}/${n}`);
    if (file.picture) return make("img", { src: at, alt: file.name });
    return make("a", { href: at, download: file.name, textContent: `📄 ${file.name} (${file.size} B)` });
  }));
}

function drawButtons(entry) {
  const rows = [];
  entry.buttons.forEach((b, n) => {
    (rows[b.row] ??= make("div")).append(button(b.label, () => ask(`presses/${entry.key}?button=${n}`)));
  });
  return make("div", { className: "buttons" }, ...rows.filter(Boolean));
}

$("composer").addEventListener("submit", async (e) => {
  e.preventDefault();
  const text = $("text").value.trim();
  if (!text && !attached) return;
  const form = new FormData();
  form.set("text", text);
  if (attached) form.set("file", attached);
  $("text").value = "";
  const file = attached;
  attach(null);
  if (!await ask("messages", form)) {
    $("text").value = text;
    attach(file);
  }
});

$("text").addEventListener("keydown", (e) => {
  // An input method confirms its choice with Enter too.
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    $("composer").requestSubmit();
  }
});
$("attach").addEventListener("click", () => $("picker").click());
$("picker").addEventListener("change", () => attach($("picker").files[0] ?? null));
$("language").addEventListener("click", () => { switchLanguage(); go(here.platform, here.place); });

world = await (await fetch("api")).json();
const [platform, place] = location.hash.slice(1).split("/");
go(world.platforms.includes(platform) ? platform : world.platforms[0], place === "group" ? "group" : "private");
