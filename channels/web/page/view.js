// Drawing messages. Everything a person or a model wrote goes in as text; only
// the HTML that the server rendered and made safe goes in as HTML.

import { fileURL, object } from "./api.js";
import { clock, size, t } from "./strings.js";

export function el(tag, attrs = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(attrs)) {
    if (v === undefined || v === false) continue;
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.filter((c) => c !== undefined && c !== null));
  return e;
}

export function icon(name) {
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const use = document.createElementNS("http://www.w3.org/2000/svg", "use");
  svg.setAttribute("aria-hidden", "true");
  use.setAttribute("href", "#i-" + name);
  svg.append(use);
  return svg;
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // No clipboard on an origin without TLS: the old way still works.
    const area = el("textarea", { class: "offscreen" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  button.classList.add("ok");
  button.title = t("copied");
  setTimeout(() => {
    button.classList.remove("ok");
    button.title = t("copy");
  }, 1500);
}

function copyButton(text) {
  const b = el("button", { class: "copy", type: "button", title: t("copy"), "aria-label": t("copy") }, icon("copy"));
  b.addEventListener("click", () => copy(text(), b));
  return b;
}

// body makes the element of a message's text.
export function body(m) {
  const div = el("div", { class: "text" });
  if (m.html !== undefined) fill(div, m.html);
  else div.append(el("p", { class: "plain" }, m.text));
  return div;
}

// fill puts rendered HTML into div, code with a button to copy it, tables and
// code in boxes that scroll by themselves.
export function fill(div, html) {
  const sheet = el("template"); // in it nothing is loaded yet
  sheet.innerHTML = html;
  for (const img of sheet.content.querySelectorAll("img")) {
    const id = img.getAttribute("src").split("/").pop();
    img.removeAttribute("src");
    show(img, id);
  }
  div.replaceChildren(sheet.content);
  for (const pre of div.querySelectorAll("pre")) {
    const box = el("div", { class: "code" });
    pre.replaceWith(box);
    pre.tabIndex = 0;
    box.append(pre, copyButton(() => pre.textContent));
  }
  for (const table of div.querySelectorAll("table")) {
    const box = el("div", { class: "wide", tabindex: "0" });
    table.replaceWith(box);
    box.append(table);
  }
}

const objects = new Map(); // of files: a promise of the address, by id

function load(id) {
  if (!objects.has(id)) {
    const url = object(id);
    url.catch(() => objects.delete(id));
    objects.set(id, url);
  }
  return objects.get(id);
}

// forget gives back the files of the conversation that was shown.
export function forget() {
  for (const url of objects.values()) url.then(URL.revokeObjectURL, () => {});
  objects.clear();
}

// near loads what comes into sight.
const near = new IntersectionObserver((entries) => {
  for (const { isIntersecting, target } of entries) {
    if (!isIntersecting) continue;
    near.unobserve(target);
    load(target.dataset.file).then((url) => (target.src = url), () => target.dispatchEvent(new Event("error")));
  }
}, { root: document.getElementById("scroll"), rootMargin: "800px" });

function show(e, id) {
  e.dataset.file = id;
  near.observe(e);
  return e;
}

const mostShown = 32 << 20; // bytes of sound and film that are fetched unasked

function fileView(f) {
  const url = fileURL(f.id);
  const gone = (e) => e.closest(".file").replaceWith(el("span", { class: "file card gone" }, icon("file"), `${f.name} · ${t("expired")}`));
  const onerror = (e) => gone(e.target);
  if (f.kind === "image") {
    const img = show(el("img", { alt: f.name, onerror }), f.id);
    const onclick = (e) => {
      e.preventDefault();
      if (img.src) open(img.src, "_blank", "noopener");
    };
    return el("a", { class: "file picture", href: url, target: "_blank", rel: "noopener", title: f.name, onclick }, img);
  }
  if ((f.kind === "audio" || f.kind === "video") && f.size <= mostShown) {
    return show(el(f.kind, { class: "file", controls: true, title: f.name }), f.id);
  }
  const onclick = (e) => {
    const card = e.currentTarget;
    e.preventDefault();
    load(f.id).then((href) => el("a", { href, download: f.name }).click(), () => gone(card));
  };
  return el("a", { class: "file card", href: url, download: f.name, "aria-label": t("download", { name: f.name }), onclick },
    icon("file"), el("span", { class: "name" }, f.name), el("small", {}, size(f.size)));
}

function buttonRows(m, onpress) {
  return m.buttons.map((row) =>
    el("div", { class: "row" }, ...row.map((b) =>
      el("button", {
        type: "button", class: "choice",
        onclick: (e) => onpress(m, b, e.currentTarget),
      }, b.label))));
}

// message makes the list item of a stored message.
export function message(m, onpress) {
  const item = el("li", { class: "message " + m.role, "data-id": m.id, "data-pos": m.pos });
  item.append(el("span", { class: "offscreen" }, (m.role === "bot" ? t("bot") : t("you")) + ":"));
  const bubble = el("div", { class: "bubble" });
  if (m.files?.length) bubble.append(el("div", { class: "files" }, ...m.files.map(fileView)));
  if (m.text) bubble.append(body(m));
  if (m.buttons?.length) bubble.append(el("div", { class: "buttons" }, ...buttonRows(m, onpress)));
  item.append(bubble);
  const foot = el("div", { class: "foot" }, el("time", { datetime: m.at }, clock(m.at)));
  if (m.text) foot.append(copyButton(() => m.text));
  item.append(foot);
  return item;
}

// pending makes the list item of a message that waits in the outbox.
export function pending(i, outbox) {
  const item = el("li", { class: "message person pending " + i.state });
  const bubble = el("div", { class: "bubble" });
  if (i.files.length) {
    bubble.append(el("div", { class: "files" }, ...i.files.map((f) => el("span", { class: "file card" }, icon("file"), el("span", { class: "name" }, f.name)))));
  }
  if (i.text) bubble.append(el("div", { class: "text" }, el("p", { class: "plain" }, i.text)));
  const state = { sending: t("sending"), waiting: t("waiting"), refused: t("refused", { why: i.why }) }[i.state] ?? "";
  const foot = el("div", { class: "foot" }, el("span", {}, state));
  if (i.state === "waiting" || i.state === "refused") foot.append(el("button", { type: "button", onclick: () => outbox.retry(i.id) }, t("again")));
  if (i.state === "refused") foot.append(el("button", { type: "button", onclick: () => outbox.discard(i.id) }, t("discard")));
  item.append(bubble, foot);
  return item;
}
