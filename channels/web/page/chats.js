// The list of conversations.

import { chatURL, request } from "./api.js";
import { stored } from "./login.js";
import { el, icon } from "./view.js";
import { t } from "./strings.js";

const $ = (id) => document.getElementById(id);
const seenKey = stored("seen");

function load() {
  try {
    return JSON.parse(localStorage.getItem(seenKey)) ?? {};
  } catch {
    return {};
  }
}

export class Chats {
  // current() is the conversation shown, removed(id) is told of one that went.
  constructor(current, removed) {
    this.current = current;
    this.removed = removed;
    this.all = new Map();
    this.seen = load();
    this.newest = { id: "", at: "" }; // what is on the screen; the list may not know of it yet
    const open = (yes) => {
      document.body.classList.toggle("menu", yes);
      $("shade").hidden = !yes;
      $("menu").setAttribute("aria-expanded", yes);
    };
    $("menu").addEventListener("click", () => open(!document.body.classList.contains("menu")));
    $("shade").addEventListener("click", () => open(false));
    addEventListener("keydown", (e) => e.key === "Escape" && open(false));
    addEventListener("hashchange", () => open(false));
  }

  update(c) {
    if (c.gone) this.all.delete(c.id);
    else this.all.set(c.id, c);
    this.draw();
  }

  title(id) {
    return this.all.get(id)?.title || t("untitled");
  }

  // shown is told when the messages on the screen are from.
  shown(at) {
    const id = this.current();
    if (this.newest.id !== id || this.newest.at < at) this.newest = { id, at };
    this.read();
  }

  // read notes that the conversation on the screen has been seen up to now.
  read() {
    const id = this.current();
    const listed = this.all.get(id)?.at ?? "";
    const at = this.newest.id === id && this.newest.at > listed ? this.newest.at : listed;
    if (document.hidden || at <= (this.seen[id] ?? "")) return;
    this.seen[id] = at;
    try {
      localStorage.setItem(seenKey, JSON.stringify(this.seen));
    } catch {
      // Only the dots of unread conversations depend on it.
    }
  }

  draw() {
    this.read();
    const list = [...this.all.values()].sort((a, b) => b.at.localeCompare(a.at));
    if (!this.all.has(this.current())) list.unshift({ id: this.current(), title: "", at: "" });
    $("chats").replaceChildren(...list.map((c) => this.item(c)));
    $("title").textContent = this.title(this.current());
    const unread = list.filter((c) => this.unread(c)).length;
    document.title = (unread ? `(${unread}) ` : "") + this.title(this.current()) + " · Magpie";
  }

  unread(c) {
    return c.at && c.at > (this.seen[c.id] ?? "") && (c.id !== this.current() || document.hidden);
  }

  item(c) {
    const here = c.id === this.current();
    const link = el("a", { href: "#" + c.id, "aria-current": here && "page" }, c.title || t("untitled"));
    const name = c.title || t("untitled");
    const remove = el("button", { type: "button", class: "icon remove", "aria-label": t("remove", { name }), title: t("remove", { name }), onclick: () => this.remove(c.id) }, icon("close"));
    return el("li", { class: this.unread(c) ? "unread" : "" }, link, c.at ? remove : undefined);
  }

  async remove(id) {
    if (!confirm(t("removeSure"))) return;
    await request("DELETE", chatURL(id)).catch(() => {}); // it stays in the list then
    if (id === this.current()) this.removed(id);
  }
}
